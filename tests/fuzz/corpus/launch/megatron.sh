#!/bin/bash
#SBATCH --nodes=4   # of 8 GPUs
#SBATCH --gres=gpu:h100:8
NNODES=${SLURM_NNODES:-4}
TP=${TP:-2}
LAYERS=$((4 * 2))
CONFIG="./ds.$JOB.json"
cat <<EOT > $CONFIG
{"zero_optimization": {"stage": 1}, "gradient_clipping": 1.0}
EOT
MODEL_ARGS=(
    --num-layers $LAYERS --hidden-size 1024
    --num-attention-heads 16   # of 64
    "--seq-length 2048"
)
OTHERS=" \
    --micro-batch-size 1 --global-batch-size 64 \
    --vocab-size 50_257 --train-iters 10 --bf16 \
"
if [ "$TP" -gt 1 ] && [[ $LAYERS == 8 ]]; then MODEL_ARGS+=(--sequence-parallel); else TP=1; fi
case $TP in 1|2) X=a ;; *) X=b ;; esac
f() { export Y=${X%a}; }
f
srun bash -c "torchrun --nproc_per_node 8 --nnodes=$NNODES --node_rank \$SLURM_PROCID `pwd`/pretrain_gpt.py \
    ${MODEL_ARGS[*]} $OTHERS --tensor-model-parallel-size $TP --deepspeed --deepspeed_config $CONFIG --zero-stage 1" 2>&1 | tee log
