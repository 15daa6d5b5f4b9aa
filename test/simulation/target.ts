import { type Execution, fanId, targetId } from '#test/simulation/simulated-heater'

/** The target value of a write, which identifies it. */
export function targetOf({ updates }: Pick<Execution, 'updates'>): number | undefined {
  return targetIn(updates)?.value as number | undefined
}

export function targetIn(updates: Execution['updates']): Execution['updates'][number] | undefined {
  return updates.find(({ propId }) => propId === targetId || propId === fanId)
}
