
lenet1
data
conv1_w
conv1_bconv1"Conv*

kernel/
conv1pool1"MaxPool*

kernel*

stride2
pool1
conv2_w
conv2_bconv2"Conv*

kernel/
conv2pool2"MaxPool*

kernel*

stride
pool2
fc3_w
fc3_bfc3"FC
fc3fc3"Relu
fc3
pred_w
pred_bpred"FC
predsoftmax"Softmax)
softmax
labelxent"LabelCrossEntropy
xentloss"AveragedLoss:data:label:conv1_w:conv1_b:conv2_w:conv2_b:fc3_w:fc3_b:pred_w:pred_bBloss