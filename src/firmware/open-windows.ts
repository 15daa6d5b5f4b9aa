import { nextTime } from '#firmware/cron'
import type { RolloutBody } from '#model/rollout'

type Window = NonNullable<RolloutBody['window']>

/** What holds from one moment to before another, Unix ms. */
interface Span {
  readonly isOpen: boolean
  readonly from: number
  readonly until: number
}

/**
 * Whether windows are open, for who asks again and again: a pattern is only read anew when it may have opened or closed
 * since. Nothing is remembered of a window that nobody holds any more.
 */
export class OpenWindows {
  readonly #spans = new WeakMap<Window, Span>()

  /** The same as `isOpen`. */
  isOpen(window: Window | undefined, now: number): boolean {
    if (!window) return true
    let span = this.#spans.get(window)
    if (!span || now < span.from || now >= span.until) {
      span = spanAt(window, now)
      this.#spans.set(window, span)
    }
    return span.isOpen
  }
}

function spanAt({ cron, minutes }: Window, now: number): Span {
  const openMs = minutes * 60_000
  const begins = nextTime(cron, now - openMs)
  if (begins === undefined) return { isOpen: false, from: now, until: Number.POSITIVE_INFINITY }
  return begins <= now
    ? { isOpen: true, from: now, until: begins + openMs }
    : { isOpen: false, from: now, until: begins }
}
