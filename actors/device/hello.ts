import { isDeepStrictEqual } from 'node:util'
import type { Hello, Welcome } from '#actors/device/commands'
import { declare } from '#actors/device/declaration'
import { firmwareRows } from '#actors/device/firmware-index'
import type { DeviceState } from '#actors/device/state'
import { markOnline } from '#actors/device/status'
import type { Discovered, Entry } from '#model/entry'
import { Problem } from '#model/problem'
import { type Decision, record, refuse, type Turn } from '#runtime/actor'

/** The device identifies itself and declares its services. Contract 7, HELLO; 4.6; DEVICE_DISCOVERY of contract 4. */
export function decideHello(state: DeviceState, hello: Hello, turn: Turn, startedAt: number): Decision<Entry> {
  if (!state.exists) return refuse(new Problem('device_unknown'))
  const declaration = declare(state, hello.services, turn.now)
  const online = markOnline(state, turn.now, startedAt, hello.isConnect)
  const discovered = discover(state, hello, turn.now)
  const welcome: Welcome = {
    flakeAddress: state.flakeAddress,
    seq: hello.session === state.session ? state.seq : 0,
  }
  const entries: Entry[] = [...declaration.entries, ...(discovered ? [discovered] : []), ...online.entries]
  return record(entries, {
    changes: [...declaration.changes, ...online.changes],
    shared: declaration.shared,
    isCheckpointed: declaration.changes.length > 0,
    indexes: [
      ...declaration.indexes,
      ...(discovered ? firmwareRows(state.device, state, discovered) : []),
      ...online.indexes,
    ],
    answer: welcome,
  })
}

function discover(state: DeviceState, hello: Hello, now: number): Discovered | undefined {
  const { device, flakeAddress } = state
  const project = hello.project ?? state.project
  const firmwares = hello.firmwares ?? state.firmwares
  const { isAutoUpdated } = hello
  const isSame =
    project === state.project && isAutoUpdated === state.isAutoUpdated && isDeepStrictEqual(firmwares, state.firmwares)
  const isAnnounced = hello.firmwares !== undefined || state.firmwares.length === 0
  if (isSame && !isAnnounced) return undefined
  return { kind: 'discovered', device, flakeAddress, at: now, project, firmwares, isAutoUpdated }
}
