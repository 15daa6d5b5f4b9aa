import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { HealthStatus } from '#api/health'
import { NatsServer, noNats } from '#bench/harness/nats-servers'
import { freePort } from '#bench/server-process'
import { Exposition } from '#test/app/exposition'
import { EventClient } from '#test/blackbox/event-client'
import { LinkClient } from '#test/blackbox/link-client'
import { climate, degrees, sensor } from '#test/blackbox/sensor'
import { grant, identityOn, SignedInUser } from '#test/blackbox/signed-in-user'
import { type Environment, ServerRun, StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'
import { runAdmin } from '#test/cli/admin-process'

const keyFile = 'identity.key'

type ClusterStatus = NonNullable<HealthStatus['cluster']>

/** Three nodes over one NATS server. Contract 11. */
describe.skipIf(noNats !== undefined)(`a cluster${noNats ? `: ${noNats}` : ''}`, () => {
  let nats: NatsServer
  const nodes: StartedServer[] = []
  const folders: string[] = []
  let root: SignedInUser

  async function environmentOf(name: string): Promise<Environment> {
    const port = `${await freePort()}`
    return {
      ...identityOn,
      NATS_URL: nats.url,
      NATS_REPLICAS: '1',
      NODE_NAME: name,
      NODE_URL: `http://127.0.0.1:${port}`,
      PORT: port,
    }
  }

  function folderOf(name: string, keyFrom?: string): string {
    const folder = mkdtempSync(join(tmpdir(), `cluster-${name}-`))
    folders.push(folder)
    if (keyFrom !== undefined) copyFileSync(join(keyFrom, keyFile), join(folder, keyFile))
    return folder
  }

  beforeAll(async () => {
    nats = await NatsServer.start()
    for (const name of ['a', 'b', 'c']) {
      nodes.push(await StartedServer.start(await environmentOf(name), folderOf(name, nodes[0]?.dataFolder)))
    }
    root = await SignedInUser.signIn(nodes[0] as StartedServer)
  })
  afterAll(async () => {
    for (const node of nodes) await node.discard()
    for (const folder of folders) rmSync(folder, { recursive: true, force: true })
    await nats?.discard()
  })

  /** Sends requests of the user `root` to a node. */
  const requestsTo = (node: StartedServer): Pick<StartedServer, 'get' | 'ask'> => ({
    get: (path) => node.get(path, root.headers),
    ask: (path, ask) => node.ask(path, { ...ask, headers: { ...root.headers, ...ask?.headers } }),
  })
  const eventsAt = (node: StartedServer) => EventClient.open(node, { offset: 'now' }, requestsTo(node))

  /** The status of a node; undefined while the node opens its store again. */
  async function maybeStatusOf(node: StartedServer): Promise<ClusterStatus | undefined> {
    const answer = await requestsTo(node).get('/health/status')
    return answer.status === 200 ? (answer.json as HealthStatus).cluster : undefined
  }

  async function statusOf(node: StartedServer): Promise<ClusterStatus> {
    return await until(() => maybeStatusOf(node), 'the status of a node')
  }

  const running = () => nodes.filter(({ run }) => !run.isEnded)

  async function ownerAndOthers(): Promise<{ owner: StartedServer; others: StartedServer[] }> {
    const found = await until(async () => {
      for (const node of running()) if ((await maybeStatusOf(node))?.isOwner) return node
      return undefined
    }, 'an owner')
    return { owner: found, others: running().filter((node) => node !== found) }
  }

  async function secretOf(device: string, node: StartedServer): Promise<string> {
    const answer = await requestsTo(node).ask('/devices', { method: 'POST', body: { deviceIdentifier: device } })
    expect(answer.status).toBe(201)
    return (answer.json as { secret: string }).secret
  }

  /** A device that reports 1, 2, 3 … and reconnects as the protocol requires. */
  class CountingDevice {
    readonly #name: string
    readonly #secret: string
    readonly #node: StartedServer
    readonly closings: (number | undefined)[] = []
    acknowledged = 0
    #isStopped = false
    readonly ended: Promise<void>

    constructor(name: string, secret: string, node: StartedServer) {
      this.#name = name
      this.#secret = secret
      this.#node = node
      this.ended = this.#run()
    }

    async stop(): Promise<void> {
      this.#isStopped = true
      await this.ended
    }

    async #run(): Promise<void> {
      while (!this.#isStopped) {
        try {
          await this.#connection()
        } catch {
          // The node does not run, or refuses the connection.
        }
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }

    async #connection(): Promise<void> {
      const authorization = `Basic ${Buffer.from(`${this.#name}:${this.#secret}`).toString('base64')}`
      const link = new LinkClient(this.#node, 'json', undefined, { authorization })
      await link.opened()
      const { flakeAddress, seq } = await link.hello(this.#name, sensor, { session: 'boot' })
      this.acknowledged = Math.max(this.acknowledged, seq)
      for (let next = seq + 1; !this.#isStopped; next++) {
        try {
          await link.report(flakeAddress, next, climate, [degrees(next)])
        } catch {
          this.closings.push(link.closing?.code)
          return
        }
        this.acknowledged = next
      }
      link.socket.close()
    }
  }

  /** Disturbs the owner while a device reports at another node, and dashboards follow at two other nodes. */
  async function disturb(device: string, disturbance: (owner: StartedServer) => Promise<void>) {
    const { owner, others } = await ownerAndOthers()
    const [near, far] = others as [StartedServer, StartedServer]
    const dashboards = [await eventsAt(near), await eventsAt(far)]
    const counting = new CountingDevice(device, await secretOf(device, near), near)
    await until(() => counting.acknowledged >= 20, 'the device to report')
    const { generation } = await statusOf(near)
    await disturbance(owner)
    const before = counting.acknowledged
    await until(() => counting.acknowledged >= before + 20, 'the device to report again', 60_000)
    await counting.stop()
    for (const dashboard of dashboards) {
      const values = () => dashboard.of('OBJECT_UPDATED').flatMap(({ updates }) => updates.map(reportedIn))
      await until(() => values().at(-1) === counting.acknowledged, 'the last report')
      dashboard.check()
      expect(dashboard.closing).toBeUndefined()
      expect(values()).toEqual(Array.from({ length: counting.acknowledged }, (_, index) => index + 1))
      const offsets = dashboard.events.map(({ offset }) => offset)
      expect(offsets).toEqual(offsets.map((_, index) => (offsets[0] as number) + index))
      dashboard.socket.close()
    }
    return { owner, near, generation, counting }
  }

  test('answers reads, writes, sign-ins and tickets at every node, and all nodes know each other', async () => {
    const [a, b, c] = nodes as [StartedServer, StartedServer, StartedServer]
    const dashboard = await EventClient.open(c, { offset: 'now' }, requestsTo(b))
    expect((await requestsTo(b).ask('/devices', { method: 'POST', body: { deviceIdentifier: 'FIRST' } })).status).toBe(
      201,
    )
    await dashboard.caughtUp({ base: c.base, ws: c.ws, ...requestsTo(c) })
    expect(dashboard.ofDevice('FIRST').map(({ type }) => type)).toContain('DEVICE_ADD')
    const answers = await Promise.all([a, b, c].map((node) => requestsTo(node).get('/devices')))
    expect(answers.map(({ text }) => text)).toEqual([answers[0]?.text, answers[0]?.text, answers[0]?.text])
    expect((await SignedInUser.signIn(b)).claims).toMatchObject({ sub: root.claims.sub })
    expect((await b.get('/devices')).status).toBe(401)
    expect((await requestsTo(b).get('/devices/NONE')).status).toBe(404)
    const status = await statusOf(b)
    expect(status).toMatchObject({ node: 'b', owner: 'a', isOwner: false, generation: 1 })
    expect(status.nodes.map(({ node }) => node)).toEqual(['a', 'b', 'c'])
    const metrics = await Promise.all([a, b].map(metricsOf))
    expect(metrics.map((samples) => samples.value('ddb_cluster_owner'))).toEqual([1, 0])
    expect(metrics.map((samples) => samples.value('ddb_cluster_take_overs_total'))).toEqual([1, 0])
    expect(metrics[0]?.value('ddb_cluster_log_duration_seconds_count')).toBeGreaterThan(0)
    await until(async () => (await metricsOf(b)).value('ddb_cluster_lag_entries') === 0, 'b to have everything')
    dashboard.socket.close()
  })

  test('sends a change of a role to the dashboards of every node', async () => {
    const [a, b, c] = nodes as [StartedServer, StartedServer, StartedServer]
    const created = { grants: [grant({ '*': ['read'] })] }
    const put = await requestsTo(b).ask('/iam/roles/watcher', { method: 'PUT', body: created })
    expect([put.status, put.text]).toEqual([200, expect.any(String)])
    const wanda = await root.bringIn('wanda', ['watcher'])
    const sockets = await Promise.all(
      [a, b, c].map((node) =>
        EventClient.open(node, { offset: 'now' }, { get: (path) => node.get(path, wanda.headers) }),
      ),
    )
    const edited = { grants: [grant({ '*': ['read'] }, ['ONLY-THIS'])] }
    expect((await requestsTo(b).ask('/iam/roles/watcher', { method: 'PUT', body: edited })).status).toBe(200)
    for (const socket of sockets) {
      await until(() => socket.controls.some(({ type }) => type === 'RESYNC'), 'RESYNC')
      socket.socket.close()
    }
  })

  test('continues when the owner is killed, without a lost report, and without a missing or repeated event', async () => {
    const { owner, near, generation, counting } = await disturb('KILLED', (node) => node.kill())
    expect(counting.closings).toEqual([1012])
    expect((await statusOf(near)).generation).toBe(generation + 1)
    await owner.startAgain()
  })

  test('continues when the owner is stopped by SIGTERM, without a refused read', async () => {
    const refused: number[] = []
    let isOver = false
    const { owner } = await disturb('ENDED', async (node) => {
      const [other] = running().filter((each) => each !== node)
      const reading = (async () => {
        while (!isOver) {
          const { status } = await requestsTo(other as StartedServer).get('/devices')
          if (status !== 200) refused.push(status)
        }
      })()
      expect(await node.stop()).toBe(0)
      await ownerAndOthers()
      isOver = true
      await reading
    })
    expect(refused).toEqual([])
    await owner.startAgain()
  })

  test('gets another owner by `admin cluster hand-over`, without a refused request', async () => {
    const { owner, others } = await ownerAndOthers()
    const [other] = others as [StartedServer]
    const { node: name } = await statusOf(other)
    const admin = (...args: string[]) =>
      runAdmin({
        args: ['cluster', ...args, '--url', other.base],
        environment: { ADMIN_NAME: root.name, ADMIN_PASSWORD: root.password },
      })
    const refused: number[] = []
    let isOver = false
    const writing = [owner, ...others].map(async (node, place) => {
      for (let count = 0; !isOver; count++) {
        const body = { deviceIdentifier: `HANDED-${place}-${count}` }
        const { status } = await requestsTo(node).ask('/devices', { method: 'POST', body })
        if (status !== 201) refused.push(status)
      }
    })
    const { code, notes } = await admin('hand-over', name)
    isOver = true
    await Promise.all(writing)
    expect([code, notes, refused]).toEqual([0, `${name} is the owner\n`, []])
    expect((await statusOf(other)).isOwner).toBe(true)
    expect((await admin('status')).out).toMatch(new RegExp(`^${name} +http.* yes +0 +0$`, 'm'))
    expect(await admin('hand-over', name)).toMatchObject({ code: 1, notes: `error: 409 ${name} is the owner\n` })
    const unknown = 'error: 404 no running node has the name x; there are a, b, c\n'
    expect(await admin('hand-over', 'x')).toMatchObject({ code: 1, notes: unknown })
  })

  test('continues when the owner is suspended, and the former owner follows afterwards', async () => {
    const { owner } = await disturb('PAUSED', async (node) => {
      node.run.signal('SIGSTOP')
      const others = running().filter((each) => each !== node)
      await until(async () => {
        for (const other of others) if ((await maybeStatusOf(other))?.isOwner) return true
        return false
      }, 'another owner')
      node.run.signal('SIGCONT')
    })
    await until(async () => {
      const { isOwner, lag } = await statusOf(owner)
      return !isOwner && lag.entries === 0
    }, 'the former owner to follow')
    expect((await requestsTo(owner).get('/devices/PAUSED')).status).toBe(200)
  })

  test('trims its log, and a new node begins with the data of another node', async () => {
    const connection = await connect({ servers: nats.url })
    const manager = await jetstreamManager(connection)
    const firstOf = async () => (await manager.streams.info('devices_log')).state.first_seq
    const lastOf = async () => (await manager.streams.info('devices_log')).state.last_seq
    await until(async () => (await firstOf()) > 10, 'the log to be trimmed', 60_000)
    const { owner } = await ownerAndOthers()
    const created = await StartedServer.start(await environmentOf('e'), folderOf('e', owner.dataFolder))
    nodes.push(created)
    const answers = await Promise.all([owner, created].map((node) => requestsTo(node).get('/devices?depth=2')))
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect(answers[1]?.text).toBe(answers[0]?.text)
    await until(async () => (await statusOf(created)).lag.entries === 0, 'the new node to follow')
    expect(created.run.lines).toContainEqual(expect.objectContaining({ msg: 'this node has the data of another node' }))
    // The log keeps the last message that each node has applied, and the last message of all.
    expect(await firstOf()).toBeLessThanOrEqual(await lastOf())
    await created.kill()
    await created.startAgain()
    await until(async () => (await statusOf(created)).lag.entries === 0, 'the new node to follow')
    await created.stop()
    await connection.close()
  })

  test('answers reads at each node without NATS, and writes again when NATS is back', async () => {
    await nats.kill()
    for (const node of running()) expect((await requestsTo(node).get('/devices?depth=2')).status).toBe(200)
    await nats.startAgain()
    const { others } = await ownerAndOthers()
    const answer = await requestsTo(others[0] as StartedServer).ask('/devices', {
      method: 'POST',
      body: { deviceIdentifier: 'LATER' },
    })
    expect(answer.status).toBe(201)
  })

  test.each([
    [
      'without the key of the others',
      undefined,
      /identity\.key is missing in .*: copy it from the data folder of another node/,
    ],
    [
      'with another key',
      `${Buffer.alloc(32, 5).toString('base64url')}\n`,
      /identity\.key differs from that of the other nodes/,
    ],
  ])('refuses a node %s', async (_, key, message) => {
    const folder = folderOf('d')
    if (key !== undefined) writeFileSync(join(folder, keyFile), key)
    const run = new ServerRun({ ...(await environmentOf('d')), DATA_DIR: folder })
    expect(await run.ended).toBe(1)
    expect(run.lines.at(-1)).toMatchObject({ level: 'fatal', msg: expect.stringMatching(message) })
  })
})

async function metricsOf({ port }: StartedServer): Promise<Exposition> {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`)
  return new Exposition(await answer.text())
}

function reportedIn(update: object): unknown {
  return 'value' in update ? update.value : undefined
}
