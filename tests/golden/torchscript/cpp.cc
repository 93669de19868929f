// cpp.cc: writes cpp_module.pt and cpp_tensor.pt of this folder, with the C++ side of the reference
// framework, whose headers and libraries are in the Python package (T: the folder of torch):
//
//     g++ -std=c++20 -I$T/include -I$T/include/torch/csrc/api/include cpp.cc -L$T/lib \
//         -ltorch -ltorch_cpu -lc10 -Wl,-rpath,$T/lib -o cpp && ./cpp
#include <torch/torch.h>

struct NetImpl : torch::nn::Module {
    NetImpl()
    {
        torch::NoGradGuard no_grad;

        sub = register_module("sub", torch::nn::Linear(2, 3));
        sub->weight.copy_(torch::arange(6).reshape({3, 2}));
        sub->bias.copy_(torch::arange(3));
        w = register_parameter("w", torch::ones({2}));
        b = register_buffer("b", torch::arange(3));
    }
    torch::nn::Linear sub{nullptr};
    torch::Tensor w, b;
};
TORCH_MODULE(Net);

int main()
{
    Net net;

    torch::save(torch::arange(4), "cpp_tensor.pt");
    torch::save(net, "cpp_module.pt");
}
