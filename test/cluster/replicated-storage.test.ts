import { pack } from 'msgpackr'
import { describe, expect, test } from 'vitest'
import { type ReplicatedStorageOptions, replicatedStorage } from '#cluster/replicated-storage'
import type { Storage, StorageBackend } from '#runtime/storage'
import type { World } from '#runtime/world'
import { everyonesLease, type LogFaults, noFaults, SimulatedLog } from '#test/cluster/simulated-log'
import { SimulatedWorld, settle } from '#test/simulation/simulated-world'
import { idleWorld } from '#test/store/idle-world'
import { type MemoryBackend, memoryStorage } from '#test/store/memory'
import { put, rowsOf, storageSuite, text } from '#test/store/storage-suite'

type Options = Pick<ReplicatedStorageOptions, 'world' | 'log' | 'backend'> & Partial<ReplicatedStorageOptions>

/** A backend whose `open` ends when this node owns the store. */
function ownerBackend(options: Options): StorageBackend {
  const backend = replicatedStorage({ lease: everyonesLease, node: 'a', partBytesMax: 64, ...options })
  return {
    ...backend,
    async open() {
      const storage = await backend.open()
      try {
        await storage.shared?.follow(async () => {})
        await storage.shared?.own()
      } catch (error) {
        await storage.close()
        throw error
      }
      return storage
    },
  }
}

storageSuite('a replicated store', async () => {
  const world = idleWorld(1)
  const log = new SimulatedLog(world).of(world)
  return { backend: ownerBackend({ world, log, backend: memoryStorage(), partBytesMax: 100_000 }) }
})

/** A process that can be paused. Tasks that become due during the pause run when it resumes. */
function pausable(world: World) {
  let held: (() => void)[] | undefined
  const guarded = (task: () => void) => () => {
    if (held) held.push(task)
    else task()
  }
  return {
    world: {
      ...world,
      soon: (task) => world.soon(guarded(task)),
      after: (delayMs, task) => {
        let isCancelled = false
        const cancel = world.after(
          delayMs,
          guarded(() => {
            if (!isCancelled) task()
          }),
        )
        return () => {
          isCancelled = true
          cancel()
        }
      },
    } satisfies World,
    pause: () => {
      held ??= []
    },
    resume: () => {
      const tasks = held ?? []
      held = undefined
      for (const task of tasks) task()
    },
  }
}

/** A node. Its disk outlives its processes. */
interface Node {
  readonly name: string
  readonly disk: MemoryBackend
  process: (ReturnType<typeof pausable> & { kill(): void }) | undefined
  storage: Storage | undefined
  isCommitting: boolean
  /** Why its last opening or commit failed. */
  failure: unknown
}

/** Nodes that share a counter. Each commit of an owner reads the count, and stores the next one. */
class CountingCluster {
  readonly world: SimulatedWorld
  readonly log: SimulatedLog
  readonly nodes: readonly Node[]
  /** The counts that were acknowledged, with the name of the commit of each. */
  readonly acknowledged = new Map<number, string>()
  readonly faults: string[] = []
  #commits = 0

  constructor(seed: number, faults: LogFaults) {
    this.world = new SimulatedWorld(seed)
    const servers = this.world.process().world
    this.log = new SimulatedLog(servers, faults)
    this.nodes = ['a', 'b', 'c'].map((name) => {
      const disk = memoryStorage({ world: this.world.process().world, delayMsMax: 3 })
      return { name, disk, process: undefined, storage: undefined, isCommitting: false, failure: undefined }
    })
  }

  start(node: Node): void {
    if (node.process) return
    const process = this.world.process()
    const paused = { ...pausable(process.world), kill: process.kill }
    node.process = paused
    node.failure = undefined
    const { world } = paused
    ownerBackend({ world, log: this.log.of(world), backend: node.disk, node: node.name })
      .open()
      .then(
        (storage) => {
          if (node.process === paused) node.storage = storage
        },
        (error) => this.#ended(node, paused, error),
      )
  }

  kill(node: Node): void {
    node.process?.kill()
    node.process = undefined
    node.storage = undefined
    node.isCommitting = false
    node.disk.crash(this.world.random.below(3))
  }

  /** Starts a commit of a node that believes that it is the owner. The commit takes several messages. */
  commit(node: Node): void {
    const { storage, process } = node
    if (!storage || !process || node.isCommitting) return
    node.isCommitting = true
    const count = Number(text(storage.get('count')) ?? 0) + 1
    const name = `${node.name}${this.#commits++}`
    const operations = [put('count', String(count)), put(`by/${count}`, name), put('long', 'x'.repeat(90))]
    storage.write(operations, { sync: false }).then(
      () => {
        if (node.process === process) node.isCommitting = false
        if (this.acknowledged.has(count)) this.faults.push(`${count} was acknowledged twice`)
        this.acknowledged.set(count, name)
      },
      (error) => this.#ended(node, process, error),
    )
  }

  /** Ends a process whose store failed. The next process of the node opens the same disk. */
  #ended(node: Node, process: Node['process'], error: unknown): void {
    if (node.process !== process) return
    this.kill(node)
    node.failure = error
  }

  async advance(ms: number): Promise<void> {
    await this.world.advance(ms)
    while (!this.world.isIdle) await this.world.step()
    await settle()
  }
}

/** Runs a cluster with starts, commits, kills and pauses in a random order. */
async function runCluster(seed: number, faults: LogFaults): Promise<CountingCluster> {
  const cluster = new CountingCluster(seed, faults)
  const { random } = cluster.world
  for (let step = 0; step < 120; step++) {
    const node = random.pick(cluster.nodes) as Node
    const chance = random.next()
    if (chance < 0.1) cluster.start(node)
    else if (chance < 0.75) cluster.commit(node)
    else if (chance < 0.8) cluster.kill(node)
    else if (chance < 0.86) node.process?.pause()
    else if (chance < 0.95) node.process?.resume()
    await cluster.advance(random.next() < 0.1 ? random.between(0, 20_000) : random.between(0, 40))
  }
  cluster.log.faults = noFaults
  for (const node of cluster.nodes) node.process?.resume()
  await cluster.advance(60_000)
  return cluster
}

/** The rows of a new node after it has read the log, from the beginning or from the state of this disk. */
async function rowsAfterAll(cluster: CountingCluster, disk: MemoryBackend) {
  const { world } = cluster.world.process()
  const opening = ownerBackend({ world, log: cluster.log.of(world), backend: disk, node: 'reader' }).open()
  let storage: Storage | undefined
  void opening.then((opened) => {
    storage = opened
  })
  for (let round = 0; round < 100 && !storage; round++) await cluster.advance(1_000)
  const reading = rowsOf(storage as Storage)
  await cluster.advance(1_000)
  return (await reading).map(({ key, value }) => `${key}=${text(value)}`)
}

const faulty = { lostAnswer: 0.05, lateCopy: 0.05, ignoredOrder: 0.2, stall: 0.01 }

test.each([
  ['without faults', noFaults, 1],
  ['with lost answers, late copies, stalls, and a log that ignores the order', faulty, 101],
])('nodes that share a log lose no commit and repeat none %s', async (_, faults, firstSeed) => {
  let acknowledged = 0
  for (let seed = firstSeed; seed < firstSeed + 40; seed++) {
    const cluster = await runCluster(seed, faults)
    for (const node of cluster.nodes) cluster.kill(node)
    expect(cluster.faults, `seed ${seed}`).toEqual([])
    const rows = await rowsAfterAll(cluster, memoryStorage())
    for (const [count, name] of cluster.acknowledged) expect(rows, `seed ${seed}`).toContain(`by/${count}=${name}`)
    for (const { disk } of cluster.nodes) expect(await rowsAfterAll(cluster, disk), `seed ${seed}`).toEqual(rows)
    acknowledged += cluster.acknowledged.size
  }
  expect(acknowledged).toBeGreaterThan(200)
})

/** A message that can still be decoded, but has another content. */
function withLastByteChanged(message: Uint8Array): Uint8Array {
  return message.with(-1, (message.at(-1) as number) ^ 1)
}

describe('a node whose copy does not match the log', () => {
  async function stoppedNode() {
    const world = idleWorld(1)
    const servers = new SimulatedLog(world)
    const backend = memoryStorage()
    const open = (disk = backend) => ownerBackend({ world, log: servers.of(world), backend: disk }).open()
    const storage = await open()
    for (const value of ['1', '2']) await storage.write([put('a', value)], { sync: false })
    await storage.close()
    return { servers, open }
  }

  test.each<[string, (messages: Uint8Array[]) => void, string]>([
    [
      'the log lost commits',
      (messages) => messages.pop(),
      'the log ends with message 2, and this node has applied 3: it lost commits',
    ],
    [
      'the log has another message',
      (messages) => messages.splice(2, 1, messages[0] as Uint8Array),
      'message 3 of the log is not the one',
    ],
  ])('does not open: %s', async (_, change, message) => {
    const { servers, open } = await stoppedNode()
    change(servers.messages)
    await expect(open()).rejects.toMatchObject({ code: 'damaged', message: expect.stringContaining(message) })
    expect((await rowsOf(await open(memoryStorage()))).length).toBeGreaterThan(0)
  })

  test.each<[string, (messages: Uint8Array[]) => void]>([
    ['a lost message', (messages) => messages.splice(1, 1)],
    ['a changed message', (messages) => messages.splice(1, 1, withLastByteChanged(messages[1] as Uint8Array))],
    ['a lost claim', (messages) => messages.splice(0, 1)],
  ])('does not open a new copy of a log with %s', async (_, change) => {
    const { servers, open } = await stoppedNode()
    change(servers.messages)
    await expect(open(memoryStorage())).rejects.toMatchObject({
      code: 'damaged',
      message: expect.stringMatching(
        /^message \d of the log does not follow on message \d: a message was lost or changed/,
      ),
    })
  })

  test.each([
    ['of a newer format', pack([2, 1, 3, new Uint8Array(16), true, new Uint8Array(0)])],
    ['without a format', new Uint8Array([0xc1])],
  ])('does not open if the log has a message %s', async (_, message) => {
    const { servers, open } = await stoppedNode()
    servers.messages.push(message)
    await expect(open()).rejects.toMatchObject({
      code: 'damaged',
      message: 'message 4 of the log cannot be read; a newer release may have written it',
    })
  })

  test('does not open if the log begins after the messages that the node has', async () => {
    const { servers, open } = await stoppedNode()
    servers.firstSequence = 2
    const message = 'the log begins with message 2, and this node has applied 0: it needs an image of another node'
    await expect(open(memoryStorage())).rejects.toMatchObject({ code: 'damaged', message })
    expect(text((await open()).get('a'))).toBe('2')
  })
})

test('a commit fails after 15 seconds without an answer of the log', async () => {
  const world = idleWorld(1)
  const servers = new SimulatedLog(world)
  const storage = await ownerBackend({ world, log: servers.of(world), backend: memoryStorage() }).open()
  servers.faults = { ...noFaults, isAway: true }
  const startedAt = world.monotonic()
  await expect(storage.write([put('a', '1')], { sync: false })).rejects.toMatchObject({ code: 'poisoned' })
  expect(world.monotonic() - startedAt).toBe(15_000)
})
