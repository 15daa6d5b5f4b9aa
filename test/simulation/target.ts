import { type Deed, fanId, targetId } from '#test/simulation/simulated-heater'

/** The target value of a write, which identifies it. */
export function targetOf({ updates }: Pick<Deed, 'updates'>): number | undefined {
  return targetIn(updates)?.value as number | undefined
}

export function targetIn(updates: Deed['updates']): Deed['updates'][number] | undefined {
  return updates.find(({ propId }) => propId === targetId || propId === fanId)
}
