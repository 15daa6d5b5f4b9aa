import { createHash } from 'node:crypto'
import { isAmong, type MembersOf } from '#model/bound'
import type { StoredRollout } from '#model/rollout'

/**
 * Whether a rollout includes a device: the device is in one of its groups (if it has groups), and the hash share is
 * below the percentage. The choice is deterministic, and a higher percentage only adds devices.
 */
export function isSelected(project: string, { body }: StoredRollout, device: string, membersOf: MembersOf): boolean {
  const { firmware, percent, groups } = body
  if (groups && !groups.some((group) => isAmong(membersOf(group) ?? [], device))) return false
  return shareOf(`${project}/${firmware}/${device}`) * 100 < percent
}

/** From 0 to below 1, from the first four bytes of the SHA-256. */
function shareOf(name: string): number {
  return createHash('sha256').update(name).digest().readUInt32BE(0) / 2 ** 32
}
