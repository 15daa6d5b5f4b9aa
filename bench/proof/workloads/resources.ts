import { chapters } from '#api/chapters'
import type { RouteEntry } from '#api/route-entry'
import { exampleDevice } from '#api/state-shape'
import { exampleTemplate, putTemplate } from '#api/templates'
import { type Change, madeIdOf, type Observed, slotsOf, type Workload } from '#bench/proof/workloads/expected-state'
import type { ProofApi } from '#bench/proof/workloads/proof-api'

/** Resources that are created, changed, listed and deleted: requests and bodies are the examples of their routes. */

type Fields = Readonly<Record<string, unknown>>

interface Resource {
  readonly name: string
  readonly slots: readonly string[]
  /** The path of POST and GET; PUT or PATCH, and DELETE, are at `item`. Without POST, PUT or PATCH also creates. */
  readonly path: string
  /** Default: the path with a parameter. */
  readonly item?: string
  /** The path of DELETE, if it is not `item`. */
  readonly removed?: string
  /** The path of GET, if it is not `path`. */
  readonly listed?: string
  /**
   * The field, in requests and in rows of the list, that every change sets to a new text: `name`, `grants.0.devices.0`.
   */
  readonly mark: string
  /** The path of the mark in the list, if it differs. */
  readonly rowMark?: string
  /** Makes the mark from the slot's name and a number; default: `SLOT-NUMBER`. */
  readonly markOf?: (text: string, number: number) => string
  /** The field that contains the name of the slot; default: the mark begins with it. */
  readonly slotField?: string
  /** The parameter of the path that the client chooses: the slot's name, or a new name. */
  readonly key?: string
  /** Parameters of the path that are the same for all slots. */
  readonly parameters?: Readonly<Record<string, string>>
  readonly busyStatuses?: readonly number[]
  /** By state, the path below `item` at which a POST without a body switches to it. The first is the initial state. */
  readonly switches?: Readonly<Record<string, string>>
  readonly events?: { readonly types: readonly string[]; readonly mark: string; readonly slot?: string }
}

/** Devices that exist all the time. */
export const notedDevices = slotsOf('NOTED', 4)
export const topicNames = slotsOf('topic', 3)
const project = '/updates/projects/:project'
const firmware = { mark: 'firmware', markOf: (_: string, number: number) => `2.0.${number}` } as const

/** `topics`: resource names of the functions of `topicNames`. */
export function resourceWorkloads(topics: readonly string[]): readonly Workload[] {
  const resources: readonly Resource[] = [
    {
      ...{ name: 'schemas', path: '/schemas', slots: slotsOf('schema', 3), key: 'serviceIdentifier', mark: 'name' },
      ...{ rowMark: 'schema.name', events: { types: ['SCHEMA_ADD', 'SCHEMA_UPDATE'], mark: 'schema.name' } },
    },
    {
      ...{ name: 'metadata', path: '/meta', slots: notedDevices, removed: '/meta/:deviceIdentifier/:key' },
      ...{ slotField: 'deviceIdentifier', parameters: { key: 'note' }, mark: 'note', rowMark: 'meta.note' },
      events: { types: ['META_SET'], mark: 'meta.note', slot: 'deviceIdentifier' },
    },
    {
      ...{ name: 'devices', path: '/devices', listed: '/meta', slots: slotsOf('MADE', 3), key: 'deviceIdentifier' },
      mark: 'meta.note',
    },
    // The server sorts the devices of a grant, and the mark stays the first one.
    { name: 'roles', path: '/iam/roles', slots: slotsOf('ROLE', 3), key: 'role', mark: 'grants.0.devices.0' },
    {
      ...{ name: 'users', path: '/iam/users', slots: slotsOf('user', 3), key: 'name', mark: 'email' },
      markOf: (text) => `${text}@proof.example`,
    },
    { name: 'API keys', path: '/iam/api-keys', slots: slotsOf('key', 2), mark: 'name' },
    { name: 'provisioning keys', path: '/iam/provisioning-keys', slots: slotsOf('provisioning', 2), mark: 'name' },
    {
      ...{ name: 'tenants', path: '/iam/tenants', slots: slotsOf('tenant', 2), key: 'tenantIdentifier', mark: 'name' },
      // A deleted tenant may still be disconnecting its devices.
      busyStatuses: [409],
    },
    { name: 'groups', path: '/groups', slots: slotsOf('group', 3), mark: 'name' },
    {
      ...{ name: 'alarms', path: '/alarms', slots: slotsOf('alarm', 3), mark: 'name' },
      events: { types: ['ALARM_CONFIG_UPDATE'], mark: 'payload.name' },
    },
    { name: 'functions', path: '/functions', slots: slotsOf('function', 3), mark: 'name' },
    { name: 'templates', path: '/templates', slots: slotsOf('template', 3), key: 'name', mark: 'locales.en.subject' },
    {
      ...{ name: 'subscriptions', path: '/notifications/subscribe', slots: topics, slotField: 'topic' },
      ...{ mark: 'locale', markOf: (_, number) => localeOf(number) },
      events: {
        ...{ types: ['NOTIFICATION_SUBSCRIBE', 'NOTIFICATION_SUBSCRIPTION_UPDATE'], mark: 'payload.locale' },
        slot: 'payload.topic',
      },
    },
    {
      ...{ name: 'pins', path: `${project}/pins`, slots: notedDevices.slice(0, 2), ...firmware },
      ...{ slotField: 'deviceIdentifier', parameters: { project: 'pinned' } },
    },
    {
      ...{ name: 'rollouts', path: '/updates/projects', item: `${project}/rollout`, slots: slotsOf('rolled', 2) },
      ...{ slotField: 'project', ...firmware, rowMark: 'rollout.firmware' },
      switches: { running: '/resume', paused: '/pause' },
    },
  ]
  return resources.map(workloadOf)
}

/** Creates the resources that bodies of the examples refer to. */
export async function createReferenced(api: ProofApi): Promise<void> {
  const devices = [exampleDevice, ...notedDevices]
  for (const deviceIdentifier of devices) await api.must('POST', '/devices', { body: { deviceIdentifier } })
  await api.must('PUT', `/templates/${exampleTemplate}`, { body: putTemplate.example.body as object })
}

const entries = chapters.flatMap((chapter) => chapter.entries)

function entryOf(path: string, ...methods: readonly string[]): RouteEntry | undefined {
  return entries.find((entry) => entry.path === path && methods.includes(entry.method))
}

function workloadOf(resource: Resource): Workload {
  const { name, slots, path, key, slotField, events, busyStatuses, switches } = resource
  const item = resource.item ?? entries.find((entry) => /^\/:\w+$/.test(entry.path.replace(path, '')))?.path ?? ''
  const post = entryOf(path, 'POST')
  const change = entryOf(item, 'PUT', 'PATCH')
  const create = (post ?? change) as RouteEntry
  const remove = entryOf(resource.removed ?? item, 'DELETE') as RouteEntry
  const list = entryOf(resource.listed ?? path, 'GET') as RouteEntry
  const [initial] = Object.keys(switches ?? {})
  /** By slot, the last name that the client chose. */
  const names = new Map<string, string>()
  const request = (entry: RouteEntry, slot: string, id: string | undefined, mark?: string) => {
    const { method, path, isSecret } = entry
    const chosen = (key !== undefined && names.get(slot)) || slot
    const values = { ...resource.parameters, ...(key !== undefined && { [key]: chosen }) }
    const body = mark === undefined ? undefined : bodyOf(resource, entry, slot, chosen, mark)
    const text = path.replace(/:(\w+)/g, (_, field: string) => values[field as keyof typeof values] ?? id ?? slot)
    return { method, path: text, ...(body && { body }), ...(isSecret && { isSentOnce: true }) }
  }
  return {
    name,
    slots,
    ...(busyStatuses && { busyStatuses }),
    ...(events && {
      eventText: (event) => {
        const mark = events.types.includes(String(event.type)) ? fieldOf(event, events.mark) : undefined
        return typeof mark === 'string' && slotOf(slots, fieldOf(event, events.slot ?? events.mark)) ? mark : undefined
      },
    }),
    nextChange(slot, before, number, random): Change {
      const text = `${slot}-${number}`
      const mark = resource.markOf?.(text, number) ?? text
      const content = initial === undefined ? mark : `${mark} ${initial}`
      const event = events ? { eventText: mark } : {}
      if (!before) {
        if (key !== undefined) names.set(slot, random.below(2) === 0 ? slot : text)
        return { ...request(create, slot, undefined, mark), content, ...event }
      }
      const choice = random.below(3)
      if (!change || choice === 0) return { ...request(remove, slot, before.id), content: undefined }
      if (!switches || choice === 1) return { ...request(change, slot, before.id, mark), content, ...event }
      const [now = '', state] = before.content.split(' ')
      const [next, below] = Object.entries(switches).find(([each]) => each !== state) as [string, string]
      const entry = entryOf(item + below, 'POST') as RouteEntry
      return { ...request(entry, slot, undefined), content: `${now} ${next}` }
    },
    async observe(api) {
      const query = new URLSearchParams(list.example.query).toString()
      const read = list.path.replace(/:(\w+)/g, (_, field: string) => String(resource.parameters?.[field]))
      const { status, text } = await api.ask('GET', query === '' ? read : `${read}?${query}`)
      if (status !== 200 && status !== 404) throw new Error(`${read} was answered ${status} ${text.slice(0, 200)}`)
      const found = new Map<string, Observed>()
      for (const row of status === 404 ? [] : (JSON.parse(text) as Fields[])) {
        const mark = fieldOf(row, resource.rowMark ?? resource.mark)
        const slot = typeof mark === 'string' && slotOf(slots, slotField ? fieldOf(row, slotField) : mark)
        if (typeof mark !== 'string' || !slot) continue
        if (found.has(slot)) throw new Error(`two are in ${slot}: ${found.get(slot)?.content}, ${mark}`)
        const id = madeIdOf(String(row.id ?? row.resourceIdentifier ?? ''))
        const content = switches ? `${mark} ${fieldOf(row, 'rollout.state')}` : mark
        found.set(slot, { content, ...(id !== undefined && { id }) })
      }
      return found
    },
  }
}

/** The body of the example; for a PATCH only the changed fields. */
function bodyOf(
  { key, slotField, mark: place }: Resource,
  { method, example }: RouteEntry,
  slot: string,
  chosen: string,
  mark: string,
): object {
  const body = method === 'PATCH' ? {} : structuredClone(example.body as object)
  if (method === 'POST' && key !== undefined) setField(body, key, chosen)
  if (method === 'POST' && slotField !== undefined) setField(body, slotField, slot)
  setField(body, place, mark)
  return body
}

function slotOf(slots: readonly string[], text: unknown): string | undefined {
  return slots.find((slot) => text === slot || String(text).startsWith(`${slot}-`))
}

function fieldOf(value: unknown, path: string): unknown {
  return path.split('.').reduce((inner, name) => (inner as Fields | null | undefined)?.[name], value)
}

function setField(body: object, path: string, value: string): void {
  const names = path.split('.')
  const last = names.pop() as string
  let inner = body as Record<string, unknown>
  for (const name of names) {
    inner[name] ??= {}
    inner = inner[name] as Record<string, unknown>
  }
  inner[last] = value
}

/** One of 456 976 locales: `aa-AA`, `ba-AA`, … */
function localeOf(number: number): string {
  const letters = [0, 1, 2, 3]
    .map((place) => String.fromCharCode(97 + (Math.floor(number / 26 ** place) % 26)))
    .join('')
  return `${letters.slice(0, 2)}-${letters.slice(2).toUpperCase()}`
}
