import type { DeviceView, State } from '#client/client'
import type { StartedServer } from '#test/blackbox/started-server'

/** The fields of devices that events can change, by device identifier. */
export type DeviceSnapshot = Readonly<Record<string, unknown>>

interface ListedDevice {
  readonly deviceIdentifier: string
  readonly services: readonly {
    readonly serviceIdentifier: string
    readonly properties: Readonly<
      Record<string, { readonly propId: number; readonly value?: unknown; readonly error?: unknown }>
    >
  }[]
}

interface ListedMeta {
  readonly deviceIdentifier: string
  readonly status: string
  readonly meta: unknown
}

/** The devices in the state of a client. */
export function snapshotOf(state: State): DeviceSnapshot {
  return sorted([...state.devices.entries()].map(([device, view]) => [device, viewOf(view)]))
}

/** The devices as the server returns them. */
export async function readSnapshot(server: StartedServer): Promise<DeviceSnapshot> {
  const devices = (await server.get('/devices?depth=2')).json as readonly ListedDevice[]
  const metas = (await server.get('/meta?depth=1')).json as readonly ListedMeta[]
  const metaOf = new Map(metas.map((meta) => [meta.deviceIdentifier, meta]))
  return sorted(
    devices.map(({ deviceIdentifier, services }) => {
      const properties = services.map(
        ({ serviceIdentifier, properties }) => [serviceIdentifier, Object.values(properties)] as const,
      )
      const { status, meta } = metaOf.get(deviceIdentifier) ?? {}
      return [deviceIdentifier, { status, meta, services: withValues(properties) }]
    }),
  )
}

function viewOf({ status, meta, services }: DeviceView): unknown {
  return { status, meta, services: withValues([...services].map(([name, service]) => [name, [...service.values()]])) }
}

/** Only the properties with a value or an error, because events contain no others. */
function withValues(
  services: readonly (readonly [string, readonly { propId: number; value?: unknown; error?: unknown }[]])[],
): DeviceSnapshot {
  const shown = services.flatMap(([name, properties]) => {
    const known = properties.filter(({ value, error }) => value !== undefined || error !== undefined)
    return known.length === 0
      ? []
      : [[name, sorted(known.map((property) => [String(property.propId), property]))] as const]
  })
  return sorted(shown)
}

function sorted(entries: readonly (readonly [string, unknown])[]): DeviceSnapshot {
  return Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : 1)))
}
