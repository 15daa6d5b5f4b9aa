// Answers: with 100 000 devices, 200 groups of 500 and 50 users whose roles grant 4 groups each: the cost of a change, compared with roles that name the same devices one by one; the cost of adding 10 000 devices to a group, and the delay of the events of others meanwhile; the cost of a search. Does not count: sign-in, groups without roles, many tenants.

import { Dashboard } from '#bench/dashboard'
import type { Benchmark, Figures, Round } from '#bench/harness/benchmark'
import { administrator, callApi, createUser, identityOn, readToken } from '#bench/harness/identity'
import { costsOf, formsOf } from '#bench/harness/load-figures'
import {
  type RunningLoad,
  runUntilReported,
  standardLoad,
  started,
  timesOf,
  withLoad,
} from '#bench/harness/running-load'
import { ownServer, type RunningServer } from '#bench/harness/servers'
import { identifierOf } from '#bench/load/fleet-link'
import { usageOf } from '#bench/process-usage'
import { sleep } from '#bench/time'

interface Sizes {
  readonly devices: number
  readonly groupDevices: number
  readonly roles: number
  readonly added: number
  readonly searches: number
}

function sizesOf({ isQuick }: Round): Sizes {
  return isQuick
    ? { devices: 2_000, groupDevices: 100, roles: 5, added: 500, searches: 3 }
    : { devices: 100_000, groupDevices: 500, roles: 50, added: 10_000, searches: 20 }
}

const groupsOfRole = 4
const serviceOfAll = '*'
/** Changes a second. */
const rate = 10_000
const { prefix } = standardLoad

/** The devices of a group. */
function devicesOf(group: number, { groupDevices }: Sizes): readonly string[] {
  return Array.from({ length: groupDevices }, (_, place) => identifierOf(prefix, group * groupDevices + place))
}

interface Fleet {
  readonly server: RunningServer
  readonly load: RunningLoad
  readonly person: string
  /** Resource identifiers. */
  readonly groups: readonly string[]
  /** One subscriber for each user, to everything that the user's role permits. */
  readonly dashboards: readonly Dashboard[]
}

/** `form`: how roles name their devices. `witnesses`: dashboards of the administrator. */
async function withFleet<Measured>(
  sizes: Sizes,
  form: 'groups' | 'devices',
  witnesses: number,
  measure: (fleet: Fleet) => Promise<Measured>,
): Promise<Measured> {
  return started(ownServer({ ...identityOn, DURABILITY: 'process' }), (server) => {
    const shape = {
      ...standardLoad,
      devices: sizes.devices,
      properties: 1,
      dashboards: witnesses,
      hasOtherEvents: true,
    }
    return withLoad(server, shape, async (load) => {
      await runUntilReported(load, { warmupMs: 0, measuredMs: 1_000 })
      const { port } = server
      const person = `Bearer ${await readToken(port, administrator)}`
      const groups: string[] = []
      for (let number = 0; number < sizes.roles * groupsOfRole; number++) {
        const body = { name: `Group ${number}`, devices: devicesOf(number, sizes) }
        const { resourceIdentifier } = await callApi<{ resourceIdentifier: string }>(port, '/groups', { person, body })
        groups.push(resourceIdentifier)
      }
      const dashboards: Dashboard[] = []
      for (let role = 0; role < sizes.roles; role++) {
        const numbers = Array.from({ length: groupsOfRole }, (_, place) => role * groupsOfRole + place)
        const granted =
          form === 'groups'
            ? { devices: [], groups: numbers.map((number) => groups[number]?.replace('crn#group:', '')) }
            : { devices: numbers.flatMap((number) => devicesOf(number, sizes)) }
        const grants = [{ permissions: { service: ['read'], meta: ['read'] }, services: [serviceOfAll], ...granted }]
        await callApi(port, `/iam/roles/role-${role}`, { person, method: 'PUT', body: { grants } })
        const user = await createUser(port, person, { name: `user-${role}`, role: `role-${role}` })
        const authorization = `Bearer ${await readToken(port, user)}`
        const dashboard = new Dashboard({
          url: `http://127.0.0.1:${port}`,
          from: 'now',
          isFolding: false,
          authorization,
        })
        dashboard.start()
        dashboards.push(dashboard)
      }
      try {
        return await measure({ server, load, person, groups, dashboards })
      } finally {
        for (const dashboard of dashboards) dashboard.stop()
      }
    })
  })
}

/** Together the dashboards must receive every change: each device is in a group of exactly one role. */
async function eventCost(form: 'groups' | 'devices', round: Round): Promise<Figures> {
  return withFleet(sizesOf(round), form, 0, async ({ load, dashboards }) => {
    const received = () => dashboards.reduce((sum, { counts }) => sum + counts.items, 0)
    await load.run({ ...timesOf(round, 1_000, 2_000), rate })
    await sleep(500)
    const before = received()
    const result = await load.run({ ...timesOf(round, 1_000, 5_000), rate })
    await sleep(500)
    // `received` includes the changes of the warm-up.
    if (received() - before < result.changes) throw new Error(`${received() - before} of ${result.changes} received`)
    return costsOf(result)
  })
}

/** The CPU time of the server for a task and the work after its answer, in ms, less the CPU time of an idle server. */
async function cpuMs({ processId }: RunningServer, task: () => Promise<unknown>): Promise<number> {
  const cpu = () => usageOf(processId).cpuSeconds
  await sleep(1_500)
  const [idleFrom, idleAt] = [cpu(), performance.now()]
  await sleep(2_000)
  const idlePerMs = (cpu() - idleFrom) / (performance.now() - idleAt)
  const [from, at] = [cpu(), performance.now()]
  await task()
  await sleep(1_500)
  return (cpu() - from - idlePerMs * (performance.now() - at)) * 1_000
}

async function edits(round: Round): Promise<Figures> {
  const sizes = sizesOf(round)
  return withFleet(sizes, 'groups', 1, async ({ server, load, person, groups }) => {
    const [group = ''] = groups
    const path = `/groups/${group.replace('crn#group:', '')}`
    const more = Array.from({ length: sizes.added }, (_, place) => identifierOf(prefix, sizes.devices - 1 - place))
    const put = (all: readonly string[]) =>
      callApi(server.port, path, { person, method: 'PATCH', body: { devices: all } })
    await put([])
    const addCpuMs = await cpuMs(server, () => put(more))
    await put([])
    const phase = { warmupMs: 500, measuredMs: 2_000, rate }
    const alone = await load.run(phase)
    const [during] = await Promise.all([load.run(phase), sleep(1_200).then(() => put(more))])
    const words = ['0099', 'load 0042', 'nothing']
    const search = async () => {
      for (let at = 0; at < sizes.searches; at++) {
        const text = encodeURIComponent(words[at % words.length] ?? '')
        await callApi(server.port, `/devices?search=${text}&limit=100&depth=0`, { person })
      }
    }
    await search()
    const searchCpuMs = (await cpuMs(server, search)) / sizes.searches
    const [eventP99Before, eventP99] = [alone.delivery.p99, during.delivery.p99]
    return { addCpuMs, searchCpuMs, eventP99, eventP99Before, eventTimes: eventP99 / eventP99Before }
  })
}

const cost = 'A change, 10 000 a second'
const edit = 'Adding 10 000 devices to a group, and searching 100 000'
const byGroups = 'roles by group'
const both = 'this server'

export const groups: Benchmark = {
  rounds: 3,
  figures: {
    ...formsOf('serverCpuPerChange', 'serverCpu', 'loadCpu'),
    addCpuMs: { title: 'server CPU to add, ms', digits: 0 },
    ...formsOf('eventP99Before', 'eventP99'),
    eventTimes: { title: 'event p99 with ÷ without', digits: 2, isOfLoad: true },
    searchCpuMs: { title: 'server CPU of a search, ms', digits: 0 },
  },
  cases: [
    {
      name: cost,
      baseline: 'roles that name devices',
      variants: [
        { name: 'roles that name devices', measure: (round) => eventCost('devices', round) },
        { name: byGroups, measure: (round) => eventCost('groups', round) },
      ],
    },
    { name: edit, variants: [{ name: both, measure: edits }] },
  ],
  targets: [
    { case: cost, variant: byGroups, figure: 'serverCpuPerChange', isRatio: true, atMost: 1.05 },
    { case: edit, variant: both, figure: 'addCpuMs', atMost: 1_000 },
    { case: edit, variant: both, figure: 'eventTimes', atMost: 2 },
    { case: edit, variant: both, figure: 'searchCpuMs', atMost: 100 },
  ],
}
