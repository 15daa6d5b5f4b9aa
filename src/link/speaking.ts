import { deviceAddress, registrarRecord, secretRecord } from '#actors/device/device'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import type { System } from '#runtime/system'

/** Who speaks for devices, by what he came with. Neither `device` nor `key`: IAM is off, and anybody may. Contract 7. */
export interface Speaker {
  readonly tenant: string
  /** The credentials are this device's own: it may speak for itself alone. */
  readonly device?: string
  /** The credentials are this provisioning key, by its id. */
  readonly key?: string
}

/**
 * Why somebody may not speak for a device; undefined when he may. A key may for those it let in and for those without a
 * secret of their own, which whoever is unknown is as well. Contract 7.
 * @throws Problem `storage`
 */
export function whyNotSpeak(
  system: System<Entry>,
  { tenant, device: own, key }: Speaker,
  device: string,
): Problem | undefined {
  if (own !== undefined) {
    return own === device ? undefined : new Problem('forbidden', `these credentials are not those of ${device}`)
  }
  if (key === undefined) return undefined
  const address = deviceAddress(tenant, device)
  if (system.recordOf(address, registrarRecord) === key) return undefined
  if (system.recordOf(address, secretRecord) === undefined) return undefined
  return new Problem('forbidden', `${device} has a secret of its own, and another let it in`)
}
