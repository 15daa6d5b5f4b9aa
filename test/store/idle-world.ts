import { ManualWorld } from '#test/runtime/manual-world'

/** A world whose time jumps to the next task whenever Node is idle. */
class IdleWorld extends ManualWorld {
  override soon(task: () => void): void {
    this.after(0, task)
  }

  override after(delayMs: number, task: () => void): () => void {
    setImmediate(() => {
      this.spend(this.nextTimerMs ?? 0)
      this.fire()
    })
    return super.after(delayMs, task)
  }
}

export const idleWorld = (seed: number) => new IdleWorld({ now: 0, seed })
