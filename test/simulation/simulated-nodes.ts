import { replicatedStorage } from '#cluster/replicated-storage'
import type { Lease } from '#cluster/shared-log'
import type { Storage, StorageBackend } from '#runtime/storage'
import { everyonesLease, SimulatedLog } from '#test/cluster/simulated-log'
import type { SimulatedWorld } from '#test/simulation/simulated-world'
import { type MemoryBackend, type MemoryStorageOptions, memoryStorage } from '#test/store/memory'

const partBytesMax = 200

/** A node with its disk, which outlives its processes. */
interface Node {
  readonly name: string
  readonly disk: MemoryBackend
  process: ReturnType<SimulatedWorld['process']> | undefined
}

/**
 * The store of a server on one of three nodes, which share a log. After a crash the server continues on the node that
 * follows it; if none does, on any node, by its disk and the log.
 */
export class SimulatedNodes implements MemoryBackend {
  readonly isShared = true
  readonly #world: SimulatedWorld
  readonly #log: SimulatedLog
  readonly #nodes: readonly Node[]
  #owner: Node
  #follower: { readonly node: Node; own(): void } | undefined

  constructor(world: SimulatedWorld, options: MemoryStorageOptions) {
    this.#world = world
    const servers = world.process().world
    const beforeAny = options.faults?.beforeWrite
    this.#log = new SimulatedLog(servers, { lostAnswer: 0.02, lateCopy: 0.02, ignoredOrder: 0.2, stall: 0 })
    this.#nodes = ['a', 'b', 'c'].map((name) => {
      // Only the owner's writes fail: a node that fails while it opens its store ends, which is not simulated.
      const beforeWrite: typeof beforeAny = (operations) =>
        this.#owner.name === name ? beforeAny?.(operations) : undefined
      return { name, disk: memoryStorage({ ...options, faults: { beforeWrite } }), process: undefined }
    })
    this.#owner = this.#nodes[0] as Node
  }

  get hasHeadroom(): boolean {
    return this.#owner.disk.hasHeadroom
  }

  open(): Promise<Storage> {
    return this.#open(this.#owner, everyonesLease)
  }

  /** The store of another node, which follows the owner and takes over when that crashes. */
  follower(): StorageBackend {
    const node = this.#world.random.pick(this.#nodes.filter((each) => each !== this.#owner)) as Node
    let own = () => {}
    const owned = new Promise<void>((resolve) => {
      own = resolve
    })
    this.#follower = { node, own }
    const { disk } = node
    return {
      isShared: true,
      open: () => this.#open(node, { acquire: () => owned, release: async () => {} }),
      hasRoom: () => disk.hasRoom(),
      releaseHeadroom: () => disk.releaseHeadroom(),
      restoreHeadroom: () => disk.restoreHeadroom(),
    }
  }

  async #open(node: Node, lease: Lease): Promise<Storage> {
    node.process ??= this.#world.process()
    const { world } = node.process
    const log = this.#log.of(world)
    return await replicatedStorage({ world, log, lease, node: node.name, partBytesMax, backend: node.disk }).open()
  }

  hasRoom(): Promise<boolean> {
    return this.#owner.disk.hasRoom()
  }

  releaseHeadroom(): Promise<void> {
    return this.#owner.disk.releaseHeadroom()
  }

  restoreHeadroom(): Promise<void> {
    return this.#owner.disk.restoreHeadroom()
  }

  setRoom(hasRoom: boolean): void {
    this.#owner.disk.setRoom(hasRoom)
  }

  crash(writesKept = 0): void {
    this.#kill((disk) => disk.crash(writesKept))
    this.#owner = this.#follower?.node ?? (this.#world.random.pick(this.#nodes) as Node)
    this.#follower?.own()
    this.#follower = undefined
  }

  losePower(): void {
    this.#kill((disk) => disk.losePower())
  }

  #kill(end: (disk: MemoryBackend) => void): void {
    this.#owner.process?.kill()
    this.#owner.process = undefined
    end(this.#owner.disk)
  }
}
