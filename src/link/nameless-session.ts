/** A session for a device that names none. Longer than any that a device can name, so it is never taken for one. */
export function namelessSession(random: Uint8Array): string {
  return `nameless:${Buffer.from(random).toString('hex')}`
}
