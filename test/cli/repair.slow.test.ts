import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { databaseFindings, folderFindings } from '#cli/doctor/folder'
import { configOf } from '#test/app/valid-config'
import { EventClient } from '#test/blackbox/event-client'
import { ServerRun, StartedServer } from '#test/blackbox/started-server'
import { environmentOf, errorOf, outputOf } from '#test/cli/admin-process'
import { administerAt } from '#test/cli/administer-at'

const devices = 20
let server: StartedServer

beforeAll(async () => {
  server = await StartedServer.start({ IAM: 'off' })
  for (let at = 0; at < devices; at++) {
    const body = { deviceIdentifier: `PUMP-${at}`, meta: { note: 'x'.repeat(900) } }
    expect((await server.ask('/devices', { method: 'POST', body })).status).toBe(201)
  }
})
afterAll(() => server?.discard())

const config = () => configOf({ DATA_DIR: server.dataFolder })
const admin = (...args: string[]) => administerAt(environmentOf(server), args)
const numbersOf = (text: string) =>
  [...text.matchAll(/"deviceIdentifier":"PUMP-(\d+)"/g)].map(([, digits]) => Number(digits)).sort((a, b) => a - b)

test('repair does nothing while a server runs, for a node of a cluster, or if the database is intact', async () => {
  expect(errorOf(await admin('repair'), 1)).toMatch(/a server answers at .*: stop it first/)
  expect(errorOf(await admin('--url', server.base, 'repair'), 2)).toMatch(/repair works on DATA_DIR of this machine/)
  expect(await databaseFindings(config())).toMatchObject([{ verdict: 'ok' }])
  await server.kill()
  const node = { ...environmentOf(server), NATS_URL: 'nats://127.0.0.1', NODE_URL: 'http://127.0.0.1' }
  expect(errorOf(await administerAt(node, ['repair']), 1)).toMatch(
    /a node of a cluster is not repaired: stop this node/,
  )
  expect(outputOf(await admin('repair'))).toMatch(/the database is intact; nothing was done\n$/)
})

test('a start reports the damage; after the repair the server runs, and no client resumes from an earlier position', async () => {
  const db = join(server.dataFolder, 'db')
  const log = readdirSync(db).find((name) => name.endsWith('.log')) ?? ''
  const bytes = readFileSync(join(db, log))
  const at = Math.floor(bytes.length / 2)
  bytes[at] = (bytes[at] ?? 0) ^ 1
  writeFileSync(join(db, log), bytes)
  const run = new ServerRun({ DATA_DIR: server.dataFolder })
  expect(await run.ended).toBe(1)
  expect(run.output).toContain(`the database is damaged: ${log} is damaged at byte`)
  expect(run.output).toContain('npm run admin -- repair')
  expect(await databaseFindings(config())).toMatchObject([{ verdict: 'wrong', said: expect.stringContaining(log) }])

  const report = outputOf(await admin('repair'))
  const [, backup = ''] = /The damaged database is in (damaged-[0-9T-]+), unchanged/.exec(report) ?? []
  expect(readFileSync(join(server.dataFolder, backup, log))).toEqual(bytes)
  expect(report).toContain(`  ${log} is damaged at byte`)
  expect(await databaseFindings(config())).toMatchObject([{ verdict: 'ok' }])
  expect(await folderFindings(config())).toContainEqual(
    expect.objectContaining({ said: expect.stringContaining(backup) }),
  )

  await server.startAgain()
  const left = numbersOf((await server.get('/devices')).text)
  // The remaining devices are the first ones, without a gap.
  expect(left).toEqual(left.map((_, place) => place))
  expect(left.length).toBeGreaterThan(0)
  expect(left.length).toBeLessThan(devices)
  for (const number of left) expect((await server.get(`/meta/PUMP-${number}`)).text).toContain('xxx')

  const { headers } = await server.get('/devices?limit=1')
  const epoch = headers.get('stream-epoch') ?? ''
  const offset = Number(headers.get('stream-offset'))
  for (const old of [0, left.length]) {
    const client = await EventClient.open(server, { epoch, offset: old })
    expect(await client.stream()).toMatchObject({ recovered: false })
  }
  const client = await EventClient.open(server, { epoch, offset })
  expect(await client.stream()).toMatchObject({ recovered: true })
  expect((await server.ask('/devices', { method: 'POST', body: { deviceIdentifier: 'PUMP-19' } })).status).toBe(201)
  await client.caughtUp(server)
  expect(client.events).toMatchObject([{ type: 'DEVICE_ADD', offset: offset + 1 }])
  await server.kill()
  await server.startAgain()
  expect(numbersOf((await server.get('/devices')).text)).toHaveLength(left.length + 1)
  await server.finish()
})
