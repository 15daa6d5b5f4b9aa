import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { comesTo, put, release, standing } from '#test/blackbox/firmware-fleet'
import { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'
import { UpdatingDevice } from '#test/blackbox/updating-device'

/** A firmware that comes to part of a fleet. Contract 6. */

interface Rollout {
  readonly state: string
  readonly percent: number
  readonly counts: { chosen: number; running: number; done: number; failed: number; refused: number }
}

let server: StartedServer
const open: { cut(): void }[] = []
beforeAll(async () => {
  server = await StartedServer.start({ DISABLE_CONNECT_UPDATE: 'on' })
})
afterAll(async () => {
  for (const each of open) each.cut()
  await server?.finish()
})

async function fleet(project: string, count: number): Promise<UpdatingDevice[]> {
  const made: UpdatingDevice[] = []
  for (let number = 10; number < 10 + count; number++) {
    made.push(await UpdatingDevice.linked(server, `${project}-${number}`.toUpperCase(), { project }))
  }
  open.push(...made)
  return made
}

/** From 0 to below 100: the share of a project's fleet that a device is of. */
function shareOf(project: string, firmware: string, { name }: UpdatingDevice): number {
  const hash = createHash('sha256').update(`${project}/${firmware}/${name}`).digest()
  return (hash.readUInt32BE(0) / 2 ** 32) * 100
}

const readRollout = async (project: string) =>
  (await server.get(`/updates/projects/${project}/rollout`)).json as Rollout
const switched = async (project: string, to: 'pause' | 'resume') =>
  (await server.ask(`/updates/projects/${project}/rollout/${to}`, { method: 'POST' })).json as Rollout

const counted = (project: string, like: Partial<Rollout['counts']>) => {
  let seen: Rollout | undefined
  return until(
    async () => {
      seen = await readRollout(project)
      const { counts } = seen
      return Object.entries(like).every(([name, count]) => counts[name as keyof typeof counts] === count) && seen
    },
    () => `${JSON.stringify(like)}, not ${JSON.stringify(seen)}`,
  )
}

test('percent, pause and resume: who is chosen is offered it, nobody else is, and more percent only add some', async () => {
  const project = 'stages'
  const devices = await fleet(project, 12)
  const below = (percent: number) => devices.filter((device) => shareOf(project, '1.1.0', device) < percent)
  const [some, more] = [below(40), below(80)]
  const first = await put(server, `${project}/rollout`, { firmware: '1.1.0', percent: 40 })
  expect([first.status, first.json]).toMatchObject([200, { state: 'running', counts: { running: 0 } }])
  // By the rollout alone something leaves by itself: not this one.
  await release(server, `${project}/1.2.0`)
  await release(server, `${project}/1.1.0`)
  for (const device of some) device.says(await device.offered({ firmware: '1.1.0' }), 'STARTED')
  expect(await counted(project, { running: some.length })).toMatchObject({ counts: { chosen: some.length } })
  expect(devices.flatMap(({ offers }) => offers)).toEqual([])

  expect((await switched(project, 'pause')).state).toBe('paused')
  const raised = await put(server, `${project}/rollout`, { firmware: '1.1.0', percent: 80 })
  expect([raised.status, raised.json]).toMatchObject([200, { state: 'paused', percent: 80 }])
  expect((await switched(project, 'resume')).state).toBe('running')
  for (const device of more.filter((each) => !some.includes(each))) await device.offered({ firmware: '1.1.0' })
  expect(await counted(project, { running: more.length })).toMatchObject({ counts: { chosen: more.length } })
  expect(devices.flatMap(({ offers }) => offers)).toEqual([])
})

test('stops when too many fail, goes on when it is resumed', async () => {
  const project = 'stopping'
  const devices = await fleet(project, 6)
  await release(server, `${project}/1.1.0`)
  // A pause in which what failed is left alone: nothing is tried again in this test.
  const body = { firmware: '1.1.0', percent: 100, errorThresholdPercent: 50, maxAttempts: 1 }
  expect((await put(server, `${project}/rollout`, body)).status).toBe(200)
  await counted(project, { running: 6, chosen: 6 })
  const [one, two, three, ...others] = devices as [UpdatingDevice, UpdatingDevice, UpdatingDevice]
  one.says(await one.offered(), 'NOT_OK')
  two.says(await two.offered(), 'FAILED', { message: 'no room' })
  expect((await counted(project, { running: 4, failed: 1, refused: 1 })).state).toBe('running')
  three.says(await three.offered(), 'FAILED')
  const stopped = await until(async () => {
    const rollout = await readRollout(project)
    return rollout.state === 'stopped' && rollout
  }, 'the rollout to stop')
  expect(stopped.counts).toEqual({ chosen: 6, running: 3, done: 0, failed: 2, refused: 1 })
  // What runs goes on.
  for (const device of others as UpdatingDevice[]) await device.installs(server, await device.offered())
  await counted(project, { running: 0, done: 3 })
  const late = await UpdatingDevice.linked(server, 'STOPPING-99', { project })
  open.push(late)
  expect((await switched(project, 'resume')).state).toBe('running')
  await late.installs(server, await late.offered({ firmware: '1.1.0' }))
  await comesTo(server, late.name, 'DONE')
  expect((await counted(project, { done: 4 })).counts).toEqual({
    chosen: 7,
    running: 0,
    done: 4,
    failed: 2,
    refused: 1,
  })
  expect([await standing(server, one.name), await standing(server, two.name)]).toMatchObject([
    { status: 'REFUSED' },
    { status: 'FAILED', message: 'DEVICE_NOT_OK: no room' },
  ])
  const remove = (path: string) => server.ask(`/updates/projects/${project}/${path}`, { method: 'DELETE' })
  expect((await remove('releases/1.1.0')).status).toBe(409)
  expect((await remove('rollout')).status).toBe(204)
  expect((await remove('releases/1.1.0')).status).toBe(204)
  expect((await server.get(`/updates/projects/${project}/releases`)).status).toBe(404)
})
