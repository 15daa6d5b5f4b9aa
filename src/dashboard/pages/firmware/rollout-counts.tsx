import { partsOf } from '#dashboard/pages/firmware/rollout-parts'
import type { RolloutCounts as Counts } from '#model/rollout'

/** Where the chosen devices stand: a bar, and the same in words. */
export function RolloutCounts({ counts }: { readonly counts: Counts }) {
  const parts = partsOf(counts)
  const most = Math.max(
    1,
    parts.reduce((sum, { count }) => sum + count, 0),
  )
  return (
    <div class="rollout-counts">
      <div class="rollout-bar" aria-hidden="true">
        {parts.map(({ name, tone, count }) => (
          <span key={name} class={tone} style={{ flexGrow: count / most }} />
        ))}
      </div>
      <ul>
        {parts.map(({ name, tone, mark, count }) => (
          <li key={name}>
            <span class={`status ${tone}`}>
              <span class="mark" aria-hidden="true">
                {mark}
              </span>{' '}
              <span class="number">{count}</span> {name}
            </span>
          </li>
        ))}
      </ul>
    </div>
  )
}
