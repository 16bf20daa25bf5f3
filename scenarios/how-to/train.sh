#!/bin/bash
# A training of Llama 3 8B with Megatron-LM under SLURM, for the page your-launch-script.md: read by accosim, not run.
#SBATCH --nodes=4
#SBATCH --gpus-per-node=h100:8
#SBATCH --ntasks-per-node=1

export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
TP=${TP:-2}

MODEL_ARGS=(
  --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32
  --group-query-attention --num-query-groups 8
  --swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear
  --untie-embeddings-and-output-weights
  --seq-length 8192 --max-position-embeddings 8192
  --tokenizer-type HuggingFaceTokenizer --tokenizer-model meta-llama/Meta-Llama-3-8B --vocab-size 128256
)
TRAINING_ARGS=(
  --micro-batch-size 1 --global-batch-size 128 --train-iters 100000 --bf16
  --attention-dropout 0.0 --hidden-dropout 0.0 --clip-grad 1.0 --lr 3e-4
  --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather
  # --recompute-activations
)
if [ "$TP" -gt 1 ]; then TRAINING_ARGS+=(--tensor-model-parallel-size "$TP" --sequence-parallel); fi

srun bash -c "torchrun --nnodes $SLURM_NNODES --nproc_per_node $GPUS_PER_NODE --node_rank \$SLURM_NODEID \
  --rdzv_endpoint $MASTER_ADDR:6000 pretrain_gpt.py ${MODEL_ARGS[*]} ${TRAINING_ARGS[*]} --data-path $1"
