import { tableOf, timeText } from '#cli/table'
import type { InspectionResult, TenantInspection } from '#store/backup/inspection'

const tenantColumns = [
  ['TENANT', 'tenant'],
  ['DEVICES', 'devices'],
  ['OTHERS', 'others'],
  ['INDEX', 'indexEntries'],
  ['REMINDERS', 'reminders'],
  ['SIZE', 'size'],
] as const

const streamColumns = [
  ['STREAM', 'tenant'],
  ['FROM', 'from'],
  ['TO', 'to'],
  ['REDO FROM', 'redoFrom'],
  ['SINCE', 'sinceAt'],
  ['UNTIL', 'untilAt'],
  ['SIZE', 'size'],
] as const

const epochColumns = [
  ['EPOCH', 'number'],
  ['NAME', 'name'],
  ['BEGAN AFTER', 'heads'],
] as const

/** How many of the latest epochs are shown. The JSON has all. */
const epochsShown = 8

/** The text for `inspect`. */
export function inspectionText(where: string, found: InspectionResult & { readonly createdAt?: number }): string {
  const { createdAt, rows, rowBytes, shapes, tells, images, history, hasIdentityKey, keySpace } = found
  const lines = [
    `${where}${createdAt === undefined ? '' : `, a backup of ${timeText(createdAt)}`}`,
    `key space ${keySpace ?? 'none yet'}; ${rows} rows, ${sizeText(rowBytes)}; ${shapes.count} shapes; ${tells} messages to deliver`,
    `${images.count} firmware images, ${sizeText(images.bytes)}; identity.key ${hasIdentityKey ? 'exists' : 'is missing'}`,
    history.count === 0 ? 'no history' : `history, ${sizeText(history.bytes)}`,
  ]
  const tables = [
    tableOf(tenantColumns, found.tenants.map(tenantRow)),
    tableOf(streamColumns, found.tenants.filter(({ stream }) => stream.redoFrom !== null).map(streamRow)),
    tableOf(epochColumns, found.epochs.slice(-epochsShown).map(epochRow)),
  ]
  return `${lines.join('\n')}\n\n${tables.join('\n')}`
}

function tenantRow({ tenant, actors, indexEntries, reminders }: TenantInspection) {
  const { device, ...others } = actors
  const bytes = Object.values(actors).reduce((sum, size) => sum + size.bytes, 0)
  return {
    tenant,
    devices: device?.count ?? 0,
    others: Object.entries(others).map(([kind, { count }]) => `${kind} ${count}`),
    indexEntries,
    reminders,
    size: sizeText(bytes),
  }
}

function streamRow({ tenant, stream: { from, to, redoFrom, since, until, bytes } }: TenantInspection) {
  return { tenant, from, to, redoFrom, sinceAt: since, untilAt: until, size: sizeText(bytes) }
}

function epochRow({ number, name, heads }: InspectionResult['epochs'][number]) {
  return { number, name, heads: Object.entries(heads).map(([tenant, offset]) => `${tenant} ${offset}`) }
}

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const

function sizeText(bytes: number): string {
  const place = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10))
  const value = bytes / 1024 ** place
  return `${place === 0 ? value : value.toFixed(1)} ${units[place]}`
}
