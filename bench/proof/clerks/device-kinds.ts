import type { Found, LedgerKind, Wish } from '#bench/proof/clerks/ledger'
import { slotsOf } from '#bench/proof/clerks/named'

/** Writes about devices that come over HTTP: notes, reports, devices made and deleted, secrets, schemas, actions. */

/** What devices of clerks have. */
export const clerkService = 'clerk'
export const clerkPropId = 0x10
const services = [{ serviceIdentifier: clerkService, properties: [{ propId: clerkPropId, type: 'UINT32' }] }]

/** Devices that are there all the time. */
export const notedDevices = slotsOf('NOTED', 4)
export const secretDevices = slotsOf('SECRET', 2)
/** They come, and are deleted, again and again. */
export const comingDevices = slotsOf('COMING', 4)
export const floodedDevice = 'FLOODED-0'
export const mailedDevice = 'MAILED-0'
/** An alarm is active on them with every other report. */
export const alarmedDevices = slotsOf('ALARMED', 3)

type Event = Readonly<Record<string, unknown>>

interface Entry {
  readonly deviceIdentifier: string
  readonly services?: readonly { readonly properties?: Readonly<Record<string, { readonly value?: number }>> }[]
}

export function reportOf(deviceIdentifier: string, value: number): object {
  return { deviceIdentifier, services, updates: [{ serviceIdentifier: clerkService, propId: clerkPropId, value }] }
}

export function schemasKind(): LedgerKind {
  const slots = slotsOf('schema', 3)
  return {
    name: 'schemas',
    slots,
    told: ({ type, schema }) =>
      type === 'SCHEMA_ADD' || type === 'SCHEMA_UPDATE' ? (schema as { name: string }).name : undefined,
    wish(slot, before, number, random): Wish {
      const path = `/schemas/${slot}`
      if (before && random.below(3) === 0) return { method: 'DELETE', path, held: undefined }
      const held = `${slot} ${number}`
      return { method: 'PUT', path, body: { name: held, properties: {} }, held, told: held }
    },
    async look(api) {
      const rows = await api.rows<{ serviceIdentifier: string; schema: { name: string } }>('/schemas?depth=1')
      return new Map(rows.map(({ serviceIdentifier, schema }) => [serviceIdentifier, { held: schema.name }]))
    },
  }
}

export function metaKind(): LedgerKind {
  return {
    name: 'meta',
    slots: notedDevices,
    told: ({ type, deviceIdentifier, meta }: Event) =>
      type === 'META_SET' && notedDevices.includes(String(deviceIdentifier))
        ? `${deviceIdentifier} ${(meta as { note: number }).note}`
        : undefined,
    wish(slot, before, number, random): Wish {
      if (before && random.below(3) === 0) return { method: 'DELETE', path: `/meta/${slot}/note`, held: undefined }
      const held = `${slot} ${number}`
      return { method: 'PATCH', path: `/meta/${slot}`, body: { note: number }, held, told: held }
    },
    async look(api) {
      const query = notedDevices.map((device) => `&deviceIdentifier=${device}`).join('')
      const rows = await api.rows<{ deviceIdentifier: string; meta: { note?: number } }>(`/meta?depth=1${query}`)
      return new Map(
        rows.flatMap(({ deviceIdentifier, meta: { note } }): [string, Found][] =>
          note === undefined ? [] : [[deviceIdentifier, { held: `${deviceIdentifier} ${note}` }]],
        ),
      )
    },
  }
}

/** Devices that come by their first report, report again, and are deleted. `gateway`: speaks for any. */
export function reportsKind(gateway: string): LedgerKind {
  return reporting('devices that report', comingDevices, gateway, true)
}

/** One whose reports a function mails: it stays, and is slow enough for each to become a mail. */
export function mailedReportsKind(gateway: string): LedgerKind {
  return { ...reporting('reports that are mailed', [mailedDevice], gateway, false), pauseMs: 150 }
}

function reporting(name: string, slots: readonly string[], authorization: string, isDeleted: boolean): LedgerKind {
  return {
    name,
    slots,
    mayBeSpared: true,
    told({ type, deviceIdentifier, updates }: Event) {
      if (type !== 'OBJECT_UPDATED' || !slots.includes(String(deviceIdentifier))) return undefined
      const [item] = updates as { value?: number }[]
      return item?.value === undefined ? undefined : `${deviceIdentifier} ${item.value}`
    },
    wish(slot, before, number, random): Wish {
      if (isDeleted && before && random.below(4) === 0)
        return { method: 'DELETE', path: `/devices/${slot}`, held: undefined }
      const held = `${slot} ${number}`
      const body = reportOf(slot, number)
      return { method: 'POST', path: '/link', headers: { authorization }, body, held, told: held, isOnceOnly: true }
    },
    async look(api) {
      const query = slots.map((device) => `&deviceIdentifier=${device}`).join('')
      const rows = await api.rows<Entry>(`/devices?depth=2${query}`)
      return new Map(
        rows.map(({ deviceIdentifier, services: held = [] }) => {
          const value = held[0]?.properties?.[clerkPropId]?.value
          return [deviceIdentifier, { held: `${deviceIdentifier} ${value}` }]
        }),
      )
    },
  }
}

/** Devices made and deleted by people. */
export function madeDevicesKind(): LedgerKind {
  const slots = slotsOf('MADE', 3)
  return {
    name: 'devices made',
    slots,
    wish(slot, before, number): Wish {
      if (before) return { method: 'DELETE', path: `/devices/${slot}`, held: undefined }
      const body = { deviceIdentifier: slot, meta: { note: number } }
      return { method: 'POST', path: '/devices', body, held: `${slot} ${number}`, isOnceOnly: true }
    },
    async look(api) {
      const query = slots.map((device) => `&deviceIdentifier=${device}`).join('')
      const rows = await api.rows<{ deviceIdentifier: string; meta: { note?: number } }>(`/meta?depth=1${query}`)
      return new Map(
        rows.map(({ deviceIdentifier, meta }) => [deviceIdentifier, { held: `${deviceIdentifier} ${meta.note}` }]),
      )
    },
  }
}

/** Secrets of devices: the one that was answered lets in. */
export function secretsKind(): LedgerKind {
  const basic = (device: string, secret: string) => `Basic ${Buffer.from(`${device}:${secret}`).toString('base64')}`
  return {
    name: 'secrets',
    slots: secretDevices,
    unknown: 'another',
    wish: (slot) => ({
      method: 'POST',
      path: `/devices/${slot}/secret`,
      held: ({ text }) => (JSON.parse(text) as { secret: string }).secret,
    }),
    async look(api, entries) {
      const found = new Map<string, Found>()
      for (const [slot, { found: before, pending }] of entries) {
        if (!before && !pending) continue
        if (!before || before.held === this.unknown) {
          found.set(slot, { held: 'another' })
          continue
        }
        const headers = { authorization: basic(slot, before.held) }
        const { status } = await api.ask('POST', '/link', { headers, body: reportOf(slot, 1) })
        found.set(slot, { held: status === 204 ? before.held : 'another' })
      }
      return found
    },
  }
}

/** Writes to many devices, none of which is linked: each is told so, once. */
export function actionsKind(): LedgerKind {
  return {
    name: 'actions',
    slots: ['action'],
    pauseMs: 200,
    wish: (_, __, number) => ({
      method: 'POST',
      path: '/devices/actions',
      body: { devices: notedDevices, serviceIdentifier: clerkService, updates: { [clerkPropId]: number } },
      held: ({ text }) => (JSON.parse(text) as { id: string }).id,
    }),
    async look(api, entries) {
      const held = entries.get('action')?.found?.held
      if (held === undefined) return new Map()
      const { counts } = await api.must<{ counts: { total: number } }>('GET', `/devices/actions/${held}`)
      if (counts.total !== notedDevices.length) throw new Error(`action ${held} means ${counts.total} devices`)
      return new Map([['action', { held, id: held }]])
    },
  }
}
