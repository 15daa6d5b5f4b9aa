import {
  alarmedDevices,
  clerkPropId,
  clerkService,
  mailedDevice,
  notedDevices,
  reportOf,
} from '#bench/proof/clerks/device-kinds'
import type { Found, LedgerKind, Wish } from '#bench/proof/clerks/ledger'
import { madeIdOf } from '#bench/proof/clerks/ledger'
import { namedKind, slotsOf } from '#bench/proof/clerks/named'

/** Writes about what is judged and who hears of it: groups, alarms and what they become, functions, templates, subscriptions. */

type Event = Readonly<Record<string, unknown>>

export const mailTemplate = 'mailed'
export const topicNames = slotsOf('topic', 3)

/** Whenever a device reports. */
export function functionOn(devices: readonly string[]) {
  return {
    enabled: true,
    binding: { devices },
    graph: {
      nodes: [
        { id: 'report', type: 'trigger', on: 'property', serviceIdentifier: clerkService, propId: clerkPropId },
        { id: 'tell', type: 'email', template: mailTemplate },
      ],
      edges: [['report', 'tell']],
    },
  }
}

export function groupsKind(): LedgerKind {
  const body = { devices: notedDevices.slice(0, 2) }
  return namedKind({ name: 'groups', path: '/groups', slots: slotsOf('group', 3), body, edit: 'PATCH' })
}

export function functionsKind(): LedgerKind {
  const body = { ...functionOn(notedDevices), enabled: false }
  return namedKind({ name: 'functions', path: '/functions', slots: slotsOf('function', 3), body, edit: 'PATCH' })
}

export function apiKeysKind(): LedgerKind {
  const body = { roles: ['viewer'] }
  return namedKind({ name: 'API keys', path: '/iam/api-keys', slots: slotsOf('key', 2), body, isOnceOnly: true })
}

export function provisioningKeysKind(): LedgerKind {
  const path = '/iam/provisioning-keys'
  return namedKind({ name: 'provisioning keys', path, slots: slotsOf('provisioning', 2), body: {}, isOnceOnly: true })
}

export function alarmsKind(): LedgerKind {
  const slots = slotsOf('alarm', 3)
  return namedKind({
    name: 'alarms',
    path: '/alarms',
    slots,
    body: {
      severity: 'info',
      serviceIdentifier: clerkService,
      condition: { '>': [{ var: '0x10' }, 1_000_000_000] },
      devices: [mailedDevice],
    },
    edit: 'PUT',
    told({ type, payload }: Event) {
      if (type !== 'ALARM_CONFIG_UPDATE') return undefined
      const { name } = payload as { name?: string }
      return name !== undefined && slots.includes(name.split(' ')[0] ?? '') ? name : undefined
    },
  })
}

/** Active while what a device reports is odd: whoever counts up turns it with each report. */
export const turningAlarm = {
  name: 'turning',
  severity: 'info',
  serviceIdentifier: clerkService,
  condition: { '==': [{ '%': [{ var: '0x10' }, 2] }, 1] },
  devices: alarmedDevices,
} as const

/**
 * Reports, each of which turns an alarm: it stands as the last of them says, and each turn is told once, in their order.
 * `gateway`: speaks for any device. `alarm`: the resource name of `turningAlarm`.
 */
export function alarmTurnsKind(authorization: string, alarm: string): LedgerKind {
  /** By device, its turns by their offsets: a second listener hears the same ones. */
  const turns = new Map<string, Map<unknown, number>>()
  const turnOf = (device: string, count: number) => `${device} ${count % 2 === 1 ? 'active' : 'inactive'} ${count}`
  return {
    name: 'alarm turns',
    slots: alarmedDevices,
    told({ type, resourceIdentifier, deviceIdentifier, offset }: Event) {
      if (type !== 'ALARM_STATUS_ACTIVE' && type !== 'ALARM_STATUS_INACTIVE') return undefined
      if (resourceIdentifier !== alarm) return undefined
      const device = String(deviceIdentifier)
      const counted = turns.get(device) ?? new Map<unknown, number>()
      turns.set(device, counted)
      const count = counted.get(offset) ?? counted.size + 1
      counted.set(offset, count)
      const state = type === 'ALARM_STATUS_ACTIVE' ? 'active' : 'inactive'
      return `${device} ${state} ${count}`
    },
    wish(slot, before): Wish {
      const count = Number(before?.held.split(' ').at(-1) ?? 0) + 1
      const held = turnOf(slot, count)
      const headers = { authorization }
      return { method: 'POST', path: '/link', headers, body: reportOf(slot, count), held, told: held, isOnceOnly: true }
    },
    async look(api) {
      const query = alarmedDevices.map((device) => `&deviceIdentifier=${device}`).join('')
      const rows = await api.rows<DeviceRow>(`/devices?depth=2${query}`)
      const standing = await api.rows<StatusRow>(`/alarms/status?active=true${query}`)
      const found = new Map<string, Found>()
      for (const { deviceIdentifier, services } of rows) {
        const count = services[0]?.properties[clerkPropId]?.value ?? 0
        const isActive = standing.some(
          (row) => row.resourceIdentifier === alarm && row.deviceIdentifier === deviceIdentifier,
        )
        const state = isActive ? 'active' : 'inactive'
        found.set(deviceIdentifier, { held: `${deviceIdentifier} ${state} ${count}` })
      }
      return found
    },
  }
}

export interface DeviceRow {
  readonly deviceIdentifier: string
  readonly services: readonly { readonly properties: Readonly<Record<string, { readonly value?: number }>> }[]
}

export interface StatusRow {
  readonly resourceIdentifier: string
  readonly deviceIdentifier: string
}

export function templatesKind(): LedgerKind {
  const slots = slotsOf('template', 3)
  return {
    name: 'templates',
    slots,
    wish(slot, before, number, random): Wish {
      const path = `/templates/${slot}`
      if (before && random.below(3) === 0) return { method: 'DELETE', path, held: undefined }
      const held = `Subject ${number}`
      return { method: 'PUT', path, body: { locales: { en: { subject: held, text: held } } }, held }
    },
    async look(api) {
      const rows = await api.rows<{ name: string; locales: { en: { subject: string } } }>('/templates')
      return new Map(rows.map(({ name, locales: { en } }) => [name, { held: en.subject }]))
    },
  }
}

/** The administrator's, to functions that stay. `topics`: their resource names. */
export function subscriptionsKind(topics: readonly string[]): LedgerKind {
  const path = '/notifications/subscribe'
  let locales = 0
  return {
    name: 'subscriptions',
    slots: topics,
    told({ type, payload }: Event) {
      if (type !== 'NOTIFICATION_SUBSCRIBE' && type !== 'NOTIFICATION_SUBSCRIPTION_UPDATE') return undefined
      const { topic, locale } = payload as { topic: string; locale: string }
      return topics.includes(topic) ? locale : undefined
    },
    wish(topic, before, _, random): Wish {
      const held = localeOf(locales++)
      if (!before) return { method: 'POST', path, body: { topic, type: 'email', locale: held }, held, told: held }
      const own = `${path}/${before.id}`
      if (random.below(3) === 0) return { method: 'DELETE', path: own, held: undefined }
      return { method: 'PATCH', path: own, body: { locale: held }, held, told: held }
    },
    async look(api) {
      const rows = await api.rows<{ topic: string; locale: string; resourceIdentifier: string }>(path)
      return new Map(
        rows.map(({ topic, locale, resourceIdentifier }) => {
          const id = madeIdOf(resourceIdentifier)
          return [topic, { held: locale, ...(id !== undefined && { id }) }]
        }),
      )
    },
  }
}

/** One of 456 976: `aa-AA`, `ab-AA`, … */
export function localeOf(number: number): string {
  const letters = [0, 1, 2, 3]
    .map((place) => String.fromCharCode(97 + (Math.floor(number / 26 ** place) % 26)))
    .join('')
  return `${letters.slice(0, 2)}-${letters.slice(2).toUpperCase()}`
}
