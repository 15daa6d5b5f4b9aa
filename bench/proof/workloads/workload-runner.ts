import { randomBytes } from 'node:crypto'
import { readState, type StreamPosition } from '#bench/dashboard'
import { administrator, createProvisioningKey, createUser, gateway, readToken } from '#bench/harness/identity'
import { accountsWorkload } from '#bench/proof/workloads/accounts'
import {
  ConnectedDevices,
  isConnectedDevice,
  updatesWorkload,
  writesWorkload,
} from '#bench/proof/workloads/connected-devices'
import { type ChangeCounts, ExpectedState } from '#bench/proof/workloads/expected-state'
import { imagesWorkload } from '#bench/proof/workloads/images'
import { ProofApi } from '#bench/proof/workloads/proof-api'
import {
  devicesWithUncountedEvents,
  floodedDevice,
  reportedAlarm,
  reportedPropId,
  reportedService,
  reportingDevices,
  reportsWorkload,
  secretDevices,
  secretsWorkload,
} from '#bench/proof/workloads/reports'
import { createReferenced, notedDevices, resourceWorkloads, topicNames } from '#bench/proof/workloads/resources'
import { signingKeysWorkload } from '#bench/proof/workloads/signing-keys'
import type { SeededRandom } from '#bench/random'

export interface RunnerPlace {
  readonly port: number
  readonly dataFolder: string
  readonly random: SeededRandom
  /** A factor for all pauses; 1 by default. */
  readonly pauseTimes?: number
}

/** All workloads and their expected states. CONTRIBUTING.md names what they leave out. */
export class WorkloadRunner {
  readonly authorization: string
  /** The administrator receives every event after this position. */
  readonly first: StreamPosition
  readonly #states: readonly ExpectedState[]
  readonly api: ProofApi
  readonly #gateway: string
  readonly #connected: ConnectedDevices

  private constructor(
    api: ProofApi,
    states: readonly ExpectedState[],
    parts: { readonly first: StreamPosition; readonly gateway: string; readonly connected: ConnectedDevices },
  ) {
    this.api = api
    this.authorization = api.authorization
    this.first = parts.first
    this.#gateway = parts.gateway
    this.#connected = parts.connected
    this.#states = states
  }

  /** Creates what the workloads need. */
  static async open({ port, dataFolder, random, pauseTimes = 1 }: RunnerPlace): Promise<WorkloadRunner> {
    const person = `Bearer ${await readToken(port, administrator)}`
    const api = new ProofApi(`http://127.0.0.1:${port}`, person, dataFolder)
    const key = await createProvisioningKey(port, person, 'Devices')
    const authorization = gateway(key)
    const locales = { en: { subject: 'A', text: '{{value}}' } }
    await api.must('PUT', `/templates/${mailTemplate}`, { body: { locales } })
    const topics: string[] = []
    for (const name of topicNames) topics.push(await createMailFunction(api, name, notedDevices, false))
    const mailing = await createMailFunction(api, 'mailing', reportingDevices, true)
    const reader = await createUser(port, person, { name: 'reader', role: 'viewer', email: 'reader@proof.example' })
    const headers = { authorization: `Bearer ${await readToken(port, reader)}` }
    const subscription = { topic: mailing, type: 'email', locale: 'en' }
    await api.must('POST', '/notifications/subscribe', { headers, body: subscription })
    // The administrator receives every event from here on. Some of the earlier events reach only the other user.
    const first = (await readState(api.url, person)).position
    await createReferenced(api)
    for (const deviceIdentifier of secretDevices) await api.must('POST', '/devices', { body: { deviceIdentifier } })
    await api.must('POST', '/alarms', { body: reportedAlarm })
    const connected = new ConnectedDevices(api.url, key)
    await connected.start(api)
    const workloads = [
      ...resourceWorkloads(topics),
      reportsWorkload(authorization),
      secretsWorkload(),
      writesWorkload(connected),
      accountsWorkload(),
      signingKeysWorkload(),
      imagesWorkload(),
      updatesWorkload(connected),
    ]
    let number = 0
    const next = () => ++number
    const states = workloads.map((workload) => new ExpectedState(workload, api, random, next, pauseTimes))
    return new WorkloadRunner(api, states, { first, gateway: authorization, connected })
  }

  /** Disconnects the devices. From then on only copies of the folder are read. */
  end(): Promise<void> {
    return this.#connected.end()
  }

  async run(isOver: () => boolean): Promise<void> {
    await Promise.all(this.#states.map((state) => state.run(isOver)))
  }

  /** Sends large reports of one device, so that the database begins a new log meanwhile. */
  async flood(megabytes: number, isOver: () => boolean): Promise<void> {
    const services = [{ serviceIdentifier: 'flood', properties: [{ propId: 1, type: 'STRING' }] }]
    const headers = { authorization: this.#gateway }
    for (let left = megabytes * 1e6; left > 0 && !isOver(); left -= floodPieceBytes) {
      // Random, so that the database cannot compress it.
      const value = randomBytes(floodPieceBytes * 0.75).toString('base64')
      const updates = [{ serviceIdentifier: 'flood', propId: 1, value }]
      const body = { deviceIdentifier: floodedDevice, services, updates }
      const answer = await this.api.ask('POST', '/link', { headers, body }).catch(() => undefined)
      if (answer?.status !== 204) return
    }
  }

  /** Differences between the server and the expected states. */
  async check(): Promise<readonly string[]> {
    return (await Promise.all(this.#states.map((state) => state.check()))).flat()
  }

  /** Records an event. Returns whether it is of a workload, or of a device that also has uncounted events. */
  receive(event: Readonly<Record<string, unknown>>): boolean {
    return this.#states.map((state) => state.receive(event)).includes(true) || mayBeUncounted(event)
  }

  /** Like `receive`, without recording the event: for an event that is received a second time. */
  owns(event: Readonly<Record<string, unknown>>): boolean {
    return this.#states.some(({ workload }) => workload.eventText?.(event) !== undefined) || mayBeUncounted(event)
  }

  /**
   * Events that are missing, duplicate or invented. Must be called after all events were received. `isWhole`: the
   * subscriber was never too slow.
   */
  eventFaults({ isWhole }: { readonly isWhole: boolean }): readonly string[] {
    return this.#states.flatMap((state) => state.eventFaults(isWhole))
  }

  /** The acknowledged changes that are missing on a server with a copy of the folder from the time `at`, Unix ms. */
  async faultsAt(at: number, place: Pick<RunnerPlace, 'port' | 'dataFolder'>): Promise<readonly string[]> {
    const api = new ProofApi(`http://127.0.0.1:${place.port}`, this.authorization, place.dataFolder, { isCopy: true })
    return (await Promise.all(this.#states.map((state) => state.faultsAt(at, api)))).flat()
  }

  get counts(): Readonly<Record<string, ChangeCounts>> {
    return Object.assign({}, ...this.#states.map(({ counts }) => counts))
  }
}

const floodPieceBytes = 60_000

/** Whether the event is of a device that has events which no workload counts. */
function mayBeUncounted({ deviceIdentifier }: Readonly<Record<string, unknown>>): boolean {
  const device = String(deviceIdentifier)
  return devicesWithUncountedEvents.includes(device) || isConnectedDevice(device)
}

const mailTemplate = 'mailed'

/** Creates a function that mails every report of these devices. Returns its resource name. */
async function createMailFunction(
  api: ProofApi,
  name: string,
  devices: readonly string[],
  enabled: boolean,
): Promise<string> {
  const nodes = [
    { id: 'report', type: 'trigger', on: 'property', serviceIdentifier: reportedService, propId: reportedPropId },
    { id: 'mail', type: 'email', template: mailTemplate },
  ]
  const body = { name, enabled, binding: { devices }, graph: { nodes, edges: [['report', 'mail']] } }
  return (await api.must<{ resourceIdentifier: string }>('POST', '/functions', { body })).resourceIdentifier
}
