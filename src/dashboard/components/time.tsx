import { observable, useObservable } from '#dashboard/components/use-observable'
import { client } from '#dashboard/session'
import { runEvery } from '#dashboard/timers'
import { duration } from '#dashboard/values/format-value'

/**
 * The server's clock, because displayed times come from the server. Ticks once a second while the page is visible;
 * relative times subscribe to it.
 */
export const clock = observable(client.now())
runEvery(1_000, () => {
  if (!document.hidden) clock.set(client.now())
})

/** Unix milliseconds as relative time, with the exact time as tooltip. 0: never. */
export function Time({ at }: { readonly at: number | undefined }) {
  const now = useObservable(clock)
  if (at === undefined || at === 0) return <span class="soft">never</span>
  const date = new Date(at)
  return (
    <time dateTime={date.toISOString()} title={dateTimeText(at)}>
      {relativeText(at, now)}
    </time>
  )
}

export function dateTimeText(at: number): string {
  return new Date(at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
}

/**
 * `12 s ago`, `in 4 h`; a date if the time is more than two weeks away. The server's clock is accurate to one or two
 * seconds: a time that is slightly ahead is shown as now.
 */
function relativeText(at: number, now: number): string {
  const distanceMs = Math.abs(now - at)
  if (distanceMs < 1_500 || (at > now && distanceMs < 3_000)) return 'now'
  if (distanceMs > 14 * 86_400_000) return new Date(at).toLocaleDateString(undefined, { dateStyle: 'medium' })
  const text = duration(distanceMs)
  return at > now ? `in ${text}` : `${text} ago`
}
