import { deviceAddress } from '#actors/device/device'
import type { LinkedDevice } from '#link/link'
import type { Entry } from '#model/entry'
import type { Asker } from '#runtime/actor'
import type { System } from '#runtime/system'

/** A turn of a device on a link, by the activation at hand; one that was forgotten is woken again. */
export function askLinked(
  system: System<Entry>,
  linked: LinkedDevice,
  command: unknown,
  asker: Asker,
  bytes: number,
): void {
  if (linked.activation.isAlive) {
    system.turnOf(linked.activation, command, asker, bytes)
    return
  }
  const address = deviceAddress(linked.link.opening.tenant, linked.device)
  system.turn(address, command, asker, bytes)
  const awake = system.registry.awake(address)
  if (awake) linked.activation = awake
}
