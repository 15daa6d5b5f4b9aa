import type { AddDevice } from '#actors/device/commands'
import { deviceAddress } from '#actors/device/device'
import { recordsWithoutEntry } from '#actors/record-actor'
import type { AdmitDevice, DeviceGone, DeviceSized } from '#actors/tenant/commands'
import {
  countersRecord,
  isExpired,
  keyRecord,
  memoryPrefix,
  type StoredProvisioningKey,
  type TenantState,
} from '#actors/tenant/state'
import type { Entry } from '#model/entry'
import { uint32Max } from '#model/identifier'
import { Problem } from '#model/problem'
import { type Decision, type RecordChange, refuse, type Turn, tell } from '#runtime/actor'

/**
 * Assigns a flake address to a new device and creates its actor. The caller has checked that the name is free. A device
 * with a provisioning key is counted at the key in the same turn, so that concurrent requests cannot exceed its limit.
 */
export function decideAdmitDevice(state: TenantState, command: AdmitDevice, { now }: Turn): Decision<Entry> {
  const { tenant, counters } = state
  const { device, meta, key, secretHash } = command
  const flakeAddress = counters.lastFlakeAddress + 1
  if (flakeAddress > uint32Max) return refuse(new Problem('conflict', 'no device address is left'))
  const provisioning = key === undefined ? undefined : state.provisioningKeys.get(key)
  if (key !== undefined && !(provisioning && mayAdmit(provisioning, now))) return refuse(new Problem('forbidden'))
  const add: AddDevice = {
    type: 'add',
    flakeAddress,
    meta,
    ...(secretHash && { secretHash }),
    ...(key !== undefined && { registrar: key }),
  }
  const counted = { lastFlakeAddress: flakeAddress, devices: counters.devices + 1 }
  return recordsWithoutEntry([{ name: countersRecord, value: counted }, ...countedBy(key, provisioning, 1)], {
    tells: [tell(deviceAddress(tenant, device), add)],
  })
}

export function decideDeviceGone(state: TenantState, { key }: DeviceGone): Decision<Entry> {
  const { counters } = state
  const counted = { ...counters, devices: Math.max(0, counters.devices - 1) }
  const provisioning = key === undefined ? undefined : state.provisioningKeys.get(key)
  return recordsWithoutEntry([{ name: countersRecord, value: counted }, ...countedBy(key, provisioning, -1)])
}

export function decideDeviceSized({ device, bytes }: DeviceSized): Decision<Entry> {
  return recordsWithoutEntry([{ name: `${memoryPrefix}${device}`, value: bytes === 0 ? null : bytes }])
}

function mayAdmit(key: StoredProvisioningKey, now: number): boolean {
  return !isExpired(key, now) && key.devices < (key.maxDevices ?? Number.POSITIVE_INFINITY)
}

/** A key may be deleted before its devices. */
function countedBy(id: string | undefined, key: StoredProvisioningKey | undefined, more: 1 | -1): RecordChange[] {
  if (id === undefined || !key) return []
  const devices = Math.max(0, key.devices + more)
  return [{ name: keyRecord('provisioning_key', id), value: { ...key, devices } }]
}
