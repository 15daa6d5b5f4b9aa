import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Fleet } from '#bench/fleet/fleet'
import {
  airService,
  deviceKinds,
  powerService,
  propertyIds,
  pumpService,
  pumpStates,
  round,
  share,
  startedAt,
} from '#bench/fleet/kinds'
import { putSchemas } from '#bench/fleet/schemas'
import {
  askApi,
  authorizationHeader,
  callApi,
  createProvisioningKey,
  createUser,
  readToken,
} from '#bench/harness/identity'
import type { HttpOptions } from '#bench/http'

/** The administrator of the demo, and a user with the role `caretaker`. Both have the same password. */
export const demoUsers = { administrator: 'anna', reader: 'ben' } as const
export const demoPassword = 'demo password'

/** The state that the demo stores in a data folder, so that it creates its content only once. */
interface DemoState {
  /** The provisioning key of the devices, if authentication is on. Only this key can register them. */
  readonly key?: string
  readonly hasContent?: true
  /** The history that was generated: up to a time, Unix ms, and for a number of devices. */
  readonly history?: { readonly until: number; readonly devices: number }
}

const stateFile = (dataFolder: string) => join(dataFolder, 'demo.json')

export function readState(dataFolder: string): DemoState {
  return existsSync(stateFile(dataFolder)) ? JSON.parse(readFileSync(stateFile(dataFolder), 'utf8')) : {}
}

export function addToState(dataFolder: string, added: DemoState): void {
  const file = stateFile(dataFolder)
  // Renamed when complete, because the demo may be killed at any moment.
  writeFileSync(`${file}.new`, JSON.stringify({ ...readState(dataFolder), ...added }))
  renameSync(`${file}.new`, file)
}

export interface DemoTarget {
  readonly port: number
  readonly dataFolder: string
  /** Authorization of the administrator; undefined where authentication is off. */
  readonly person: string | undefined
}

/** The provisioning key of the devices, created once; empty where authentication is off. */
export async function deviceKey({ port, dataFolder, person }: DemoTarget): Promise<string> {
  if (person === undefined) return ''
  const known = readState(dataFolder).key
  if (known !== undefined) return known
  const key = await createProvisioningKey(port, person, 'Demo devices')
  addToState(dataFolder, { key })
  return key
}

/**
 * Creates everything that the demo shows besides values, once for each data folder: metadata of the devices, groups,
 * alarms, templates and functions. With authentication, it also creates a role, a user and subscriptions. The devices
 * must be connected.
 */
export async function createDemoContent(target: DemoTarget, { devices, kinds }: Fleet): Promise<void> {
  const { port, person, dataFolder } = target
  if (readState(dataFolder).hasContent) return
  const call = <Value = Resource>(method: string, path: string, body: object) =>
    callApi<Value>(port, path, { person, method, body })
  await putSchemas(`http://127.0.0.1:${port}`, kinds, person)
  for (const { index, identifier } of devices) await call('PATCH', `/meta/${identifier}`, metadataOf(index))
  const groups = new Map<string, string>()
  for (const { name } of sites) {
    const members = devices.filter(({ index }) => siteOf(index).name === name).map(({ identifier }) => identifier)
    groups.set(name, idOf(await call('POST', '/groups', { name, devices: members })))
  }
  const [mainGroup = ''] = groups.values()
  const alarms = new Map<string, string>()
  for (const alarm of alarmsOf(mainGroup)) alarms.set(alarm.name, idOf(await call('POST', '/alarms', alarm)))
  for (const [name, locales] of Object.entries(templates)) await call('PUT', `/templates/${name}`, { locales })
  const topics: string[] = []
  for (const definition of functionsOf(mainGroup, alarms)) {
    topics.push((await call('POST', '/functions', definition)).resourceIdentifier)
  }
  if (person !== undefined) await createUsers(port, person, topics)
  addToState(dataFolder, { hasContent: true, history: { until: startedAt, devices: 0 } })
}

async function createUsers(port: number, person: string, topics: readonly string[]): Promise<void> {
  await callApi(port, '/iam/roles/caretaker', { person, method: 'PUT', body: { grants: caretakerGrants } })
  const email = `${demoUsers.administrator}@example.com`
  await callApi(port, `/iam/users/${demoUsers.administrator}`, { person, method: 'PATCH', body: { email } })
  const reader = { name: demoUsers.reader, email: `${demoUsers.reader}@example.com`, password: demoPassword }
  await createUser(port, person, { ...reader, role: 'caretaker' })
  for (const subscriber of [person, `Bearer ${await readToken(port, reader)}`]) {
    for (const topic of topics) {
      const body = { topic, type: 'email', locale: 'en' }
      await callApi(port, '/notifications/subscribe', { person: subscriber, body })
    }
  }
}

interface Resource {
  readonly resourceIdentifier: string
}

const idOf = ({ resourceIdentifier }: Resource): string => resourceIdentifier.slice(resourceIdentifier.indexOf(':') + 1)

/** `mainGroup`: id of the group of the first site. */
function alarmsOf(mainGroup: string) {
  return [
    {
      name: 'Poor air',
      severity: 'warning',
      serviceIdentifier: airService,
      condition: { '>': [{ var: propertyIds.carbonDioxide }, 1200] },
      forSeconds: 20,
    },
    {
      name: 'Pump fault',
      severity: 'critical',
      serviceIdentifier: pumpService,
      condition: { '==': [{ var: propertyIds.pumpState }, pumpStates.indexOf('Fault')] },
    },
    {
      name: 'Low pressure',
      severity: 'warning',
      serviceIdentifier: pumpService,
      condition: { '<': [{ var: propertyIds.pressure }, 1.8] },
      forSeconds: 60,
      groups: [mainGroup],
    },
    {
      name: 'High power',
      severity: 'info',
      serviceIdentifier: powerService,
      condition: { '>': [{ var: propertyIds.power }, 5000] },
    },
  ]
}

const templates = {
  'poor-air': {
    en: {
      subject: 'Open a window: {{meta.name}}, {{meta.site}}',
      text: 'The air in {{meta.room}} has been poor for a while.\nDevice {{deviceIdentifier}}, {{meta.site}}, floor {{meta.floor}}.',
    },
    de: {
      subject: 'Bitte lüften: {{meta.name}}, {{meta.site}}',
      text: 'Die Luft in {{meta.room}} ist seit einiger Zeit schlecht.\nGerät {{deviceIdentifier}}, {{meta.site}}, Stock {{meta.floor}}.',
    },
  },
  'pump-fault': {
    en: {
      subject: '{{meta.name}} in {{meta.site}} has a fault',
      text: 'Device {{deviceIdentifier}} stopped with a fault at {{time}}.',
      html: '<p>Device <b>{{deviceIdentifier}}</b> stopped with a fault at {{time}}.</p>',
    },
  },
  offline: {
    en: { subject: '{{meta.name}} is offline', text: '{{deviceIdentifier}} in {{meta.site}} lost its connection.' },
  },
} as const

const caretakerGrants = [
  {
    permissions: {
      service: ['read', 'update'],
      meta: ['read'],
      alarms: ['read'],
      functions: ['read'],
      notifications: ['read', 'create', 'update', 'delete'],
      schemas: ['read'],
      device: ['read'],
      updates: ['read'],
    },
    devices: ['*'],
    services: ['*'],
  },
]

function functionsOf(mainGroup: string, alarms: ReadonlyMap<string, string>) {
  const onAlarm = (name: string) => ({
    id: 'alarm',
    type: 'trigger',
    on: 'alarm',
    alarmId: alarms.get(name),
    to: 'active',
  })
  const mail = (template: string) => ({ id: 'mail', type: 'email', template })
  return [
    {
      name: 'Ask to open a window',
      binding: { groups: [mainGroup] },
      graph: {
        nodes: [onAlarm('Poor air'), { id: 'hourly', type: 'throttle', seconds: 3600 }, mail('poor-air')],
        edges: [
          ['alarm', 'hourly'],
          ['hourly', 'mail'],
        ],
      },
    },
    {
      name: 'Report pump faults',
      binding: { groups: [mainGroup] },
      graph: { nodes: [onAlarm('Pump fault'), mail('pump-fault')], edges: [['alarm', 'mail']] },
    },
    {
      name: 'Report devices at the entrance that go offline',
      binding: {},
      graph: {
        nodes: [
          { id: 'offline', type: 'trigger', on: 'status', to: 'offline' },
          { id: 'entrance', type: 'condition', logic: { in: ['entrance', { var: 'meta.tags' }] } },
          mail('offline'),
        ],
        edges: [
          ['offline', 'entrance'],
          ['entrance', 'mail'],
        ],
      },
    },
  ]
}

const project = 'climate'
const imageBytes = 262_144
const percentStep = 5
const stepMs = 20_000

/**
 * Uploads a firmware for the climate sensors, and widens its rollout step by step until it includes all of them. Each
 * start of the demo creates a new rollout: the sensors have an older firmware again, and the previous rollout would
 * count them as failed. Must run before the devices connect, because without a rollout the release is for all of them.
 * Returns a function that stops the steps.
 */
export async function startRollout({ port, person }: Omit<DemoTarget, 'dataFolder'>): Promise<() => void> {
  const base = `/updates/projects/${project}`
  const headers = authorizationHeader(person)
  const send = async (method: string, path: string, accepted: number, more: HttpOptions = {}) => {
    const { status } = await askApi(port, `${base}${path}`, { method, headers, ...more })
    if (status >= 300 && status !== accepted) throw new Error(`${method} ${base}${path} was answered ${status}`)
  }
  let percent = 0
  const widen = async () => {
    percent += percentStep
    if (percent >= 100) clearInterval(timer)
    const body = { firmware: '1.5.0', percent, errorThresholdPercent: 50, maxAttempts: 3 }
    await callApi(port, `${base}/rollout`, { person, method: 'PUT', body })
  }
  // If a step fails, the demo continues without it.
  const timer = setInterval(() => void widen().catch((error) => console.error(String(error))), stepMs)
  await send('DELETE', '/rollout', 404)
  await widen()
  await send('PUT', '/releases/1.5.0', 409, {
    headers: { ...headers, 'content-type': 'application/octet-stream' },
    body: new Uint8Array(imageBytes).map((_, index) => index % 251),
  })
  return () => clearInterval(timer)
}

/** The buildings of the company of the demo, and the devices in them. */

const kinds = deviceKinds()

interface Site {
  readonly name: string
  readonly lat: number
  readonly lon: number
}

const sites: readonly Site[] = [
  { name: 'Zürich', lat: 47.3769, lon: 8.5417 },
  { name: 'Basel', lat: 47.5596, lon: 7.5886 },
  { name: 'Lausanne', lat: 46.5197, lon: 6.6323 },
  { name: 'Lugano', lat: 46.0037, lon: 8.9511 },
]

/** The site of a device. Each site has devices of all kinds. */
function siteOf(deviceIndex: number): Site {
  return sites[Math.floor(deviceIndex / kinds.length) % sites.length] as Site
}

/** The metadata of a device. */
function metadataOf(deviceIndex: number): object {
  const place = Math.floor(deviceIndex / kinds.length / sites.length)
  const { name: site, lat, lon } = siteOf(deviceIndex)
  const { name: kind = '' } = kinds[deviceIndex % kinds.length] ?? {}
  const [floor, room] = [Math.floor(place / 12) % 8, (place % 12) + 1]
  const roomName = `${floor}.${String(room).padStart(2, '0')}`
  const distance = (salt: number) => Math.round((share(deviceIndex, salt) - 0.5) * 40) / 10_000
  return {
    name: `${kind} ${roomName}`,
    site,
    floor,
    room: roomName,
    location: { lat: round(lat + distance(1), 4), lon: round(lon + distance(2), 4) },
    tags: [kind.toLowerCase(), ...(floor === 0 && room === 1 ? ['entrance'] : [])],
  }
}
