import { createHash } from 'node:crypto'
import { isAmong, type MembersOf } from '#model/bound'
import type { StoredRollout } from '#model/rollout'

/**
 * Whether a rollout means a device: one of its groups, if it is for groups, has it now, and its share of the hash is below
 * the percentage. So the same devices are chosen whoever asks and whenever, and a greater percentage only adds some.
 */
export function isChosen(project: string, { body }: StoredRollout, device: string, membersOf: MembersOf): boolean {
  const { firmware, percent, groups } = body
  if (groups && !groups.some((group) => isAmong(membersOf(group) ?? [], device))) return false
  return shareOf(`${project}/${firmware}/${device}`) * 100 < percent
}

/** From 0 to below 1, by the first four bytes of the SHA-256. */
function shareOf(name: string): number {
  return createHash('sha256').update(name).digest().readUInt32BE(0) / 2 ** 32
}
