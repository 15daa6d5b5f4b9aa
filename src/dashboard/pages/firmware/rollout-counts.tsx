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

/** `waiting`: chosen and not begun with, or at the version already; the counts do not tell them apart. Contract 6. */
export function partsOf({ chosen, running, done, failed, refused }: Counts) {
  const waiting = Math.max(0, chosen - running - done - failed - refused)
  return [
    { name: 'done', tone: 'good', mark: '●', count: done },
    { name: 'being updated', tone: 'busy', mark: '◐', count: running },
    { name: 'failed', tone: 'bad', mark: '✕', count: failed },
    { name: 'refused', tone: 'warning', mark: '▲', count: refused },
    { name: 'waiting, or had it already', tone: 'quiet', mark: '○', count: waiting },
  ] as const
}
