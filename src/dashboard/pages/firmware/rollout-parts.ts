import type { RolloutCounts } from '#model/rollout'

/** `waiting`: chosen and not begun with, or at the version already; the counts do not tell them apart. Contract 6. */
export function partsOf({ chosen, running, done, failed, refused }: RolloutCounts) {
  const waiting = Math.max(0, chosen - running - done - failed - refused)
  return [
    { name: 'done', tone: 'good', mark: '●', count: done },
    { name: 'being updated', tone: 'busy', mark: '◐', count: running },
    { name: 'failed', tone: 'bad', mark: '✕', count: failed },
    { name: 'refused', tone: 'warning', mark: '▲', count: refused },
    { name: 'waiting, or had it already', tone: 'quiet', mark: '○', count: waiting },
  ] as const
}
