import { createAlarm, deleteAlarm, listAlarms, putAlarm } from '#api/alarms'
import { createApiKey, deleteApiKey, listApiKeys } from '#api/api-keys'
import { createDevice, deleteDevice } from '#api/devices'
import type { RouteEntry } from '#api/entry'
import { createFunction, deleteFunction, listFunctions, updateFunction } from '#api/functions'
import { createGroup, deleteGroup, listGroups, updateGroup } from '#api/groups'
import { deleteMetaKey, listMeta, patchMeta } from '#api/meta'
import { createProvisioningKey, deleteProvisioningKey, listProvisioningKeys } from '#api/provisioning-keys'
import { deleteRole, listRoles, putRole } from '#api/roles'
import { deleteSchema, listSchemas, putSchema } from '#api/schemas'
import { exampleDevice } from '#api/state-shape'
import { listSubscriptions, subscribe, unsubscribe, updateSubscription } from '#api/subscriptions'
import { deleteTemplate, exampleTemplate, listTemplates, putTemplate } from '#api/templates'
import { createTenant, deleteTenant, listTenants, updateTenant } from '#api/tenants'
import {
  deletePin,
  deleteRollout,
  listPins,
  listProjects,
  pauseRollout,
  putPin,
  putRollout,
  resumeRollout,
} from '#api/update-projects'
import { createUser, deleteUser, listUsers, updateUser } from '#api/users'
import { type Change, madeIdOf, type Observed, slotsOf, type Workload } from '#bench/proof/workloads/expected-state'
import type { ProofApi } from '#bench/proof/workloads/proof-api'

/** Resources that are created, changed, listed and deleted: requests and bodies are the examples of their routes. */

type Entry = Pick<RouteEntry, 'method' | 'path' | 'example' | 'isSecret'>
type Fields = Readonly<Record<string, unknown>>

interface Resource {
  readonly name: string
  readonly slots: readonly string[]
  /** POST, or a PUT that also changes. */
  readonly create: Entry
  /** Absent: the resource is created and deleted only, unless `create` is a PUT or PATCH. */
  readonly update?: Entry
  readonly remove: Entry
  readonly list: Entry
  /**
   * The field, in requests and in rows of the list, that every change sets to a new text: `name`, `grants.0.devices.0`.
   */
  readonly mark: string
  /** The path of the mark in the list, if it differs. */
  readonly rowMark?: string
  /** Makes the text from the slot's name and a number, if it is not `SLOT-NUMBER`. */
  readonly markOf?: (text: string, number: number) => string
  /** The field that contains the name of the slot; default: the mark begins with it. */
  readonly slotField?: string
  /** The parameter that the client chooses: the slot's name, or a new one. */
  readonly key?: string
  /** Parameters of the path that are the same for all slots. */
  readonly parameters?: Readonly<Record<string, string>>
  readonly busyStatuses?: readonly number[]
  /** Requests without a body that switch the state of the resource. */
  readonly switches?: Readonly<Record<string, Entry>>
  readonly events?: { readonly types: readonly string[]; readonly mark: string; readonly slot?: string }
}

/** Devices that exist all the time. */
export const notedDevices = slotsOf('NOTED', 4)
export const topicNames = slotsOf('topic', 3)

/** `topics`: resource names of the functions of `topicNames`. */
export function resourceWorkloads(topics: readonly string[]): readonly Workload[] {
  const firmware = (_: string, number: number) => `2.0.${number}`
  const resources: readonly Resource[] = [
    {
      ...{ name: 'schemas', slots: slotsOf('schema', 3), create: putSchema, remove: deleteSchema, list: listSchemas },
      ...{ key: 'serviceIdentifier', mark: 'name', rowMark: 'schema.name' },
      events: { types: ['SCHEMA_ADD', 'SCHEMA_UPDATE'], mark: 'schema.name' },
    },
    {
      ...{ name: 'metadata', slots: notedDevices, create: patchMeta, remove: deleteMetaKey, list: listMeta },
      ...{ slotField: 'deviceIdentifier', parameters: { key: 'note' }, mark: 'note', rowMark: 'meta.note' },
      events: { types: ['META_SET'], mark: 'meta.note', slot: 'deviceIdentifier' },
    },
    {
      ...{ name: 'devices', slots: slotsOf('MADE', 3), create: createDevice, remove: deleteDevice, list: listMeta },
      ...{ key: 'deviceIdentifier', mark: 'meta.note' },
    },
    {
      ...{ name: 'roles', slots: slotsOf('ROLE', 3), create: putRole, remove: deleteRole, list: listRoles },
      // The server sorts the devices: the mark stays in front.
      ...{ key: 'role', mark: 'grants.0.devices.0' },
    },
    {
      ...{ name: 'users', slots: slotsOf('user', 3), create: createUser, update: updateUser, remove: deleteUser },
      ...{ list: listUsers, key: 'name', mark: 'email', markOf: (text) => `${text}@proof.example` },
    },
    {
      ...{ name: 'API keys', slots: slotsOf('key', 2), create: createApiKey, remove: deleteApiKey },
      ...{ list: listApiKeys, mark: 'name' },
    },
    {
      ...{ name: 'provisioning keys', slots: slotsOf('provisioning', 2), create: createProvisioningKey },
      ...{ remove: deleteProvisioningKey, list: listProvisioningKeys, mark: 'name' },
    },
    {
      ...{ name: 'tenants', slots: slotsOf('tenant', 2), create: createTenant, update: updateTenant },
      ...{ remove: deleteTenant, list: listTenants, key: 'tenantIdentifier', mark: 'name' },
      // A deleted one may still be disconnecting.
      busyStatuses: [409],
    },
    {
      ...{ name: 'groups', slots: slotsOf('group', 3), create: createGroup, update: updateGroup, remove: deleteGroup },
      ...{ list: listGroups, mark: 'name' },
    },
    {
      ...{ name: 'alarms', slots: slotsOf('alarm', 3), create: createAlarm, update: putAlarm, remove: deleteAlarm },
      ...{ list: listAlarms, mark: 'name', events: { types: ['ALARM_CONFIG_UPDATE'], mark: 'payload.name' } },
    },
    {
      ...{ name: 'functions', slots: slotsOf('function', 3), create: createFunction, update: updateFunction },
      ...{ remove: deleteFunction, list: listFunctions, mark: 'name' },
    },
    {
      ...{ name: 'templates', slots: slotsOf('template', 3), create: putTemplate, remove: deleteTemplate },
      ...{ list: listTemplates, key: 'name', mark: 'locales.en.subject' },
    },
    {
      ...{ name: 'subscriptions', slots: topics, create: subscribe, update: updateSubscription, remove: unsubscribe },
      ...{ list: listSubscriptions, slotField: 'topic', mark: 'locale', markOf: (_, number) => localeOf(number) },
      events: {
        ...{ types: ['NOTIFICATION_SUBSCRIBE', 'NOTIFICATION_SUBSCRIPTION_UPDATE'], mark: 'payload.locale' },
        slot: 'payload.topic',
      },
    },
    {
      ...{ name: 'pins', slots: notedDevices.slice(0, 2), create: putPin, remove: deletePin, list: listPins },
      ...{ slotField: 'deviceIdentifier', parameters: { project: 'pinned' }, mark: 'firmware', markOf: firmware },
    },
    {
      ...{ name: 'rollouts', slots: slotsOf('rolled', 2), create: putRollout, remove: deleteRollout },
      ...{ list: listProjects, slotField: 'project', mark: 'firmware', rowMark: 'rollout.firmware', markOf: firmware },
      switches: { running: resumeRollout, paused: pauseRollout },
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

function workloadOf(resource: Resource): Workload {
  const { name, slots, create, update, remove, list, key, slotField, events, busyStatuses, switches } = resource
  const [initial] = Object.keys(switches ?? {})
  /** By slot, the last name that the client chose. */
  const names = new Map<string, string>()
  const request = ({ method, path, example, isSecret }: Entry, slot: string, id: string | undefined, mark?: string) => {
    const chosen = (key !== undefined && names.get(slot)) || slot
    const values = { ...resource.parameters, ...(key !== undefined && { [key]: chosen }) }
    const body = mark === undefined ? undefined : bodyOf(resource, { method, example }, slot, chosen, mark)
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
      const change = update ?? (create.method === 'POST' ? undefined : create)
      const choice = random.below(3)
      if (!change || choice === 0) return { ...request(remove, slot, before.id), content: undefined }
      if (!switches || choice === 1) return { ...request(change, slot, before.id, mark), content, ...event }
      const [now = '', state] = before.content.split(' ')
      const [next, entry] = Object.entries(switches).find(([each]) => each !== state) as [string, Entry]
      return { ...request(entry, slot, undefined), content: `${now} ${next}` }
    },
    async observe(api) {
      const query = new URLSearchParams(list.example.query).toString()
      const path = list.path.replace(/:(\w+)/g, (_, field: string) => String(resource.parameters?.[field]))
      const { status, text } = await api.ask('GET', query === '' ? path : `${path}?${query}`)
      if (status !== 200 && status !== 404) throw new Error(`${path} was answered ${status} ${text.slice(0, 200)}`)
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
  { key, slotField, create, mark: place }: Resource,
  { method, example }: Pick<Entry, 'method' | 'example'>,
  slot: string,
  chosen: string,
  mark: string,
): object {
  const body = method === 'PATCH' ? {} : structuredClone(example.body as object)
  if (method === 'POST' && key !== undefined) setField(body, key, chosen)
  if (method === 'POST' && create.method === 'POST' && slotField !== undefined) setField(body, slotField, slot)
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

/** One of 456 976: `aa-AA`, `ba-AA`, … */
function localeOf(number: number): string {
  const letters = [0, 1, 2, 3]
    .map((place) => String.fromCharCode(97 + (Math.floor(number / 26 ** place) % 26)))
    .join('')
  return `${letters.slice(0, 2)}-${letters.slice(2).toUpperCase()}`
}
