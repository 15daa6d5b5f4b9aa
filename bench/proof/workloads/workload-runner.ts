import { randomBytes } from 'node:crypto'
import { readState } from '#bench/dashboard'
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

/** All workloads and their expected states. */
export type WorkloadRunner = Awaited<ReturnType<typeof openWorkloads>>

/** Creates what the workloads need. CONTRIBUTING.md names what they leave out. */
export async function openWorkloads({ port, dataFolder, random, pauseTimes = 1 }: RunnerPlace) {
  const authorization = `Bearer ${await readToken(port, administrator)}`
  const api = new ProofApi(`http://127.0.0.1:${port}`, authorization, dataFolder)
  const key = await createProvisioningKey(port, authorization, 'Devices')
  const gatewayHeader = { authorization: gateway(key) }
  const locales = { en: { subject: 'A', text: '{{value}}' } }
  await api.must('PUT', `/templates/${mailTemplate}`, { body: { locales } })
  const topics: string[] = []
  for (const name of topicNames) topics.push(await createMailFunction(api, name, notedDevices, false))
  const topic = await createMailFunction(api, 'mailing', reportingDevices, true)
  const reader = await createUser(port, authorization, {
    name: 'reader',
    role: 'viewer',
    email: 'reader@proof.example',
  })
  const headers = { authorization: `Bearer ${await readToken(port, reader)}` }
  await api.must('POST', '/notifications/subscribe', { headers, body: { topic, type: 'email', locale: 'en' } })
  // Some of the earlier events reach only the other user.
  const first = (await readState(api.url, authorization)).position
  await createReferenced(api)
  for (const deviceIdentifier of secretDevices) await api.must('POST', '/devices', { body: { deviceIdentifier } })
  await api.must('POST', '/alarms', { body: reportedAlarm })
  const connected = new ConnectedDevices(api.url, key)
  await connected.start(api)
  const workloads = [
    ...resourceWorkloads(topics),
    reportsWorkload(gatewayHeader.authorization),
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
  return {
    api,
    authorization,
    /** The administrator receives every event after this position. */
    first,

    /** Disconnects the devices. From then on only copies of the folder are read. */
    end: () => connected.end(),

    /** Starts the changes. The returned function stops them, and waits until the last one is answered or interrupted. */
    work(): () => Promise<void> {
      let isOver = false
      const working = Promise.all(states.map((state) => state.run(() => isOver)))
      return async () => {
        isOver = true
        await working
      }
    },

    /** Sends large reports of one device, so that the database begins a new log meanwhile. */
    async flood(megabytes: number): Promise<void> {
      const services = [{ serviceIdentifier: 'flood', properties: [{ propId: 1, type: 'STRING' }] }]
      for (let left = megabytes * 1e6; left > 0; left -= floodPieceBytes) {
        // Random, so that the database cannot compress it.
        const value = randomBytes(floodPieceBytes * 0.75).toString('base64')
        const updates = [{ serviceIdentifier: 'flood', propId: 1, value }]
        const body = { deviceIdentifier: floodedDevice, services, updates }
        const answer = await api.ask('POST', '/link', { headers: gatewayHeader, body }).catch(() => undefined)
        if (answer?.status !== 204) return
      }
    },

    /** Differences between the server and the expected states. */
    async check(): Promise<readonly string[]> {
      return (await Promise.all(states.map((state) => state.check()))).flat()
    },

    /** Records an event. Returns whether it is of a workload, or of a device that also has uncounted events. */
    receive(event: Readonly<Record<string, unknown>>): boolean {
      const device = String(event.deviceIdentifier)
      const mayBeUncounted = devicesWithUncountedEvents.includes(device) || isConnectedDevice(device)
      return states.map((state) => state.receive(event)).includes(true) || mayBeUncounted
    },

    /**
     * Events that are missing, duplicate or invented. Must be called after all events were received. `isWhole`: the
     * subscriber was never too slow.
     */
    eventFaults: (isWhole: boolean) => states.flatMap((state) => state.eventFaults(isWhole)),

    /** The acknowledged changes that are missing on a server with a copy of the folder from the time `at`, Unix ms. */
    async faultsAt(at: number, place: Pick<RunnerPlace, 'port' | 'dataFolder'>): Promise<readonly string[]> {
      const copy = new ProofApi(`http://127.0.0.1:${place.port}`, authorization, place.dataFolder, { isCopy: true })
      return (await Promise.all(states.map((state) => state.faultsAt(at, copy)))).flat()
    },

    get counts(): Readonly<Record<string, ChangeCounts>> {
      return Object.assign({}, ...states.map(({ counts }) => counts))
    },
  }
}

const floodPieceBytes = 60_000
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
