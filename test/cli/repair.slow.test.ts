import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { databaseFindings } from '#doctor/database'
import { readConfig } from '#src/config'
import { tableIndex } from '#store/level-files/table-file'
import { EventClient } from '#test/blackbox/event-client'
import { ServerRun, StartedServer } from '#test/blackbox/started-server'
import { done, environmentOf, failed, runAdmin } from '#test/cli/admin-run'

/** From damage to a server that runs again: what each of those says that an operator would ask. */

const devices = 20

let server: StartedServer
let log: string

beforeAll(async () => {
  server = await StartedServer.start({ IAM: 'off' })
  for (let at = 0; at < devices; at++) {
    const body = { deviceIdentifier: `PUMP-${at}`, meta: { note: 'x'.repeat(900) } }
    expect((await server.ask('/devices', { method: 'POST', body })).status).toBe(201)
  }
})
afterAll(() => server?.discard())

const findings = async () => {
  const reading = readConfig({ DATA_DIR: server.dataFolder })
  if ('mistakes' in reading) throw new Error(reading.mistakes.join())
  return databaseFindings(reading.config)
}
const admin = (...args: string[]) => runAdmin({ args, environment: environmentOf(server) })
const numbersOf = (text: string) =>
  [...text.matchAll(/"deviceIdentifier":"PUMP-(\d+)"/g)].map(([, digits]) => Number(digits))

test('while a server runs, or nothing is wrong, nothing is done', async () => {
  expect(failed(await admin('repair'), 1)).toMatch(/a server answers at .*: stop it first/)
  expect(failed(await admin('--url', server.base, 'repair'), 2)).toMatch(/repair works on DATA_DIR of this machine/)
  // What was just being written does not count; here nothing was.
  expect(await findings()).toEqual([{ verdict: 'ok', about: 'database', said: 'every block of its files is whole' }])
  await server.kill()
  expect(done(await admin('repair'))).toMatch(/the database is whole; nothing was done\n$/)
  expect(readdirSync(server.dataFolder)).not.toContain('repairing')
})

test('damage in the middle of the log stops the start, which names the place and the way out', async () => {
  const db = join(server.dataFolder, 'db')
  log = readdirSync(db).find((name) => name.endsWith('.log')) ?? ''
  const bytes = readFileSync(join(db, log))
  const at = Math.floor(bytes.length / 2)
  bytes[at] = (bytes[at] ?? 0) ^ 1
  writeFileSync(join(db, log), bytes)
  const run = new ServerRun({ DATA_DIR: server.dataFolder })
  expect(await run.ended).toBe(1)
  expect(run.output).toContain(`the database is damaged: ${log} is damaged at byte`)
  expect(run.output).toContain('npm run admin -- repair')
  // Whoever repairs it now is not told to begin again.
  mkdirSync(join(server.dataFolder, 'repairing'))
  const other = new ServerRun({ DATA_DIR: server.dataFolder })
  expect(await other.ended).toBe(1)
  expect(other.output).toContain('a repair is under way here')
  expect(other.output).not.toContain('is damaged')
  rmdirSync(join(server.dataFolder, 'repairing'))
  expect(await findings()).toMatchObject([
    { verdict: 'wrong', said: expect.stringContaining(log), todo: expect.stringContaining('npm run admin -- repair') },
  ])
})

test('repair names what is lost and keeps what was; the server goes on, and nobody resumes over the gap', async () => {
  const said = done(await admin('repair'))
  expect(said).toMatch(/^.* holds a database again, of \d+ rows .* kept in damaged-[0-9T-]+$/m)
  expect(said).toContain(`  ${log} is damaged at byte`)
  const [, from = ''] = /tenant default: events (\d+) to \d+/.exec(said) ?? []
  expect(said).toMatch(/what was stored last of device PUMP-19 of tenant default/)
  expect(Number(from)).toBeGreaterThan(1)
  const before = await findings()
  expect(before).toMatchObject([{ verdict: 'ok' }])

  await server.startAgain()
  // Some, and of these the first that were made, with all that belongs to each of them.
  const kept = numbersOf((await server.get('/devices')).text).sort((a, b) => a - b)
  expect(kept).toEqual(Array.from({ length: kept.length }, (_, at) => at))
  expect(kept.length).toBeGreaterThan(0)
  expect(kept.length).toBeLessThan(devices)
  for (const at of kept) expect((await server.get(`/meta/PUMP-${at}`)).text).toContain('xxx')

  const { headers } = await server.get('/devices?limit=1')
  const epoch = headers.get('stream-epoch') ?? ''
  const offset = Number(headers.get('stream-offset'))
  expect(offset).toBeGreaterThan(devices)
  for (const position of [
    { epoch, offset: 0 },
    { epoch, offset: Number(from) },
  ]) {
    const client = await EventClient.open(server, position)
    expect(await client.stream()).toMatchObject({ recovered: false })
  }
  const client = await EventClient.open(server, { epoch, offset })
  expect(await client.stream()).toMatchObject({ recovered: true })
  expect((await server.ask('/devices', { method: 'POST', body: { deviceIdentifier: 'PUMP-19' } })).status).toBe(201)
  await client.caughtUp(server)
  expect(client.events).toMatchObject([{ type: 'DEVICE_ADD', offset: offset + 1 }])
  await server.kill()
  await server.startAgain()
  expect(numbersOf((await server.get('/devices')).text)).toHaveLength(kept.length + 1)
  await server.finish()
})

test('damage in a table that LevelDB does not look at stops the start when it is read, and is named', async () => {
  const other = await StartedServer.start({ IAM: 'off' })
  for (let at = 0; at < devices; at++) {
    const body = { deviceIdentifier: `PUMP-${at}`, meta: { note: randomBytes(900).toString('base64') } }
    expect((await other.ask('/devices', { method: 'POST', body })).status).toBe(201)
  }
  // A start writes into tables what the log holds.
  for (let starts = 0; starts < 2; starts++) {
    await other.kill()
    await other.startAgain()
  }
  await other.kill()
  const db = join(other.dataFolder, 'db')
  const tables = readdirSync(db).filter((name) => name.endsWith('.ldb'))
  expect(tables.length).toBeGreaterThan(0)
  for (const table of tables) {
    const path = join(db, table)
    const file = await open(path, 'r')
    // The last one is looked at.
    const blocks = (await tableIndex(file)).slice(0, -1)
    await file.close()
    const bytes = readFileSync(path)
    for (const { at, bytes: length } of blocks) bytes.fill(0xff, at + (length >> 2), at + (length >> 1))
    writeFileSync(path, bytes)
  }
  const run = new ServerRun({ DATA_DIR: other.dataFolder })
  expect(await run.ended).toBe(1)
  expect(run.output).toMatch(/the database is damaged: \d+\.ldb: its block at byte/)
  expect(run.output).toContain('npm run admin -- repair')
  await other.discard()
})
