keras_metadata.pb

ûroot.layer-0"_tf_keras_layer*Ù{"class_name": "Lambda", "config": {"function": ["YwAAAAAAAAAAAAAAAAEAAAAAAAAA8wYAAACXAGQAUwApAekBAAAAqQByAgAAAPMAAAAA2gFm+gg8bW9kdWxlPnIFAAAAAQAAAHMKAAAA8AMBAQHYAAGAAXIDAAAA", null, null], "function_type": "lambda"}}