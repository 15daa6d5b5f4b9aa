import type { Entry } from '#model/entry'
import type { Problem } from '#model/problem'
import type { AnyDefinition } from '#runtime/activation'
import type { ActorAddress, Tell } from '#runtime/actor'
import type { RedoLimits } from '#runtime/checkpoints'
import type { EventListener } from '#runtime/gate'
import type { SealedCommit } from '#runtime/journal'
import { System } from '#runtime/system'
import type { BulkActivationLimits } from '#store/bulk-activation'
import { Database } from '#store/database'
import type { RetentionLimits } from '#store/retention'
import { StoreJournal } from '#store/store-journal'
import { ManualWorld } from '#test/runtime/manual-world'
import { type TallyCommand, type TallyState, tallies } from '#test/runtime/tally-actors'
import { type MemoryBackend, memoryStorage, type WriteFault } from '#test/store/memory'

export interface RuntimeFixtureOptions {
  readonly world?: ManualWorld
  readonly backend?: MemoryBackend
  readonly definitions?: (journal: StoreJournal) => AnyDefinition<Entry>[]
  readonly uncommittedBytesMax?: number
  readonly commitEveryMs?: number
  readonly redo?: RedoLimits
  readonly bulkActivation?: BulkActivationLimits
  readonly retention?: RetentionLimits
  readonly neededFrom?: (tenant: string) => number
  readonly isSynced?: boolean
}

/** The faults that a test injects into a store. */
export interface Faults {
  next: WriteFault | undefined
  /** While this is set, the store cannot be opened. */
  open?: 'full' | 'io' | undefined
}

export function faultyStorage(world: ManualWorld): { backend: MemoryBackend; faults: Faults } {
  const faults: Faults = { next: undefined }
  const beforeWrite = () => {
    const fault = faults.next
    faults.next = undefined
    return fault
  }
  return { backend: memoryStorage({ world, faults: { beforeWrite, beforeOpen: () => faults.open } }), faults }
}

/** The runtime on a store in memory, in a manual world. It records answers and events in order. */
export class RuntimeFixture {
  readonly world: ManualWorld
  readonly backend: MemoryBackend
  readonly journal: StoreJournal
  readonly system: System<Entry>
  readonly database: Database
  /**
   * `event <tenant> <offset>`, `lost <tenant> <offset>`, `answered <label> <value>`, `refused <label> <code>`, in
   * order.
   */
  readonly outputs: string[] = []
  readonly events: { readonly tenant: string; readonly offset: number; readonly event: Entry }[] = []
  readonly commits: SealedCommit<Entry>[] = []
  readonly bugs: string[] = []
  readonly refusedTells: Tell[] = []
  readonly log: string[] = []
  releases = 0
  /** Runs when a commit fails, before the database learns of it. */
  onCommitFailed: () => void = () => {}
  /** Runs after the database is reloaded. */
  onReloaded: () => void = () => {}
  /** Runs with the offset of each released event. */
  onReleased: (offset: number) => void = () => {}

  readonly listener: EventListener<Entry> = {
    beforeRelease: () => {
      this.releases++
    },
    released: ({ tenant }, event, offset) => {
      this.outputs.push(`event ${tenant} ${offset}`)
      this.events.push({ tenant, offset, event })
      this.onReleased(offset)
      return 1
    },
    lost: ({ tenant, released }) => {
      this.outputs.push(`lost ${tenant} ${released}`)
    },
  }

  constructor(options: RuntimeFixtureOptions = {}) {
    this.world = options.world ?? new ManualWorld()
    this.backend = options.backend ?? memoryStorage({ world: this.world })
    this.journal = new StoreJournal({ isSynced: options.isSynced ?? false })
    const write = this.journal.write.bind(this.journal)
    this.journal.write = (commit) => {
      this.commits.push(commit)
      return write(commit)
    }
    this.system = new System<Entry>({
      world: this.world,
      journal: this.journal,
      definitions: options.definitions?.(this.journal) ?? tallies,
      listener: this.listener,
      log: {
        bug: (error, where) => this.bugs.push(`${where}: ${error instanceof Error ? error.message : String(error)}`),
        refusedTell: (_, tell) => this.refusedTells.push(tell),
      },
      commitFailed: (error) => {
        this.onCommitFailed()
        this.database.commitFailed(error)
      },
      uncommittedBytesMax: options.uncommittedBytesMax ?? 64 * 1024 * 1024,
      commitEveryMs: options.commitEveryMs ?? 0,
      ...(options.redo ? { redo: options.redo } : {}),
    })
    this.database = new Database({
      world: this.world,
      backend: this.backend,
      journal: this.journal,
      listener: this.listener,
      ...(options.bulkActivation ? { bulkActivation: options.bulkActivation } : {}),
      ...(options.neededFrom ? { neededFrom: options.neededFrom } : {}),
      retention: options.retention ?? { bytesMax: Number.MAX_SAFE_INTEGER, ageMsMax: Number.MAX_SAFE_INTEGER },
      log: {
        failed: (failure) => this.log.push(`failed ${failure.code}`),
        readOnly: (failure) => this.log.push(`read only ${failure.code}`),
        recovered: () => this.log.push('recovered'),
        sweepFailed: (error) => this.log.push(`sweep failed ${error instanceof Error ? error.message : error}`),
        stillFailing: (error) => this.log.push(`still failing ${error instanceof Error ? error.message : error}`),
      },
      reloaded: (isRewound) => {
        this.log.push(isRewound ? 'reloaded, rewound' : 'reloaded')
        this.onReloaded()
      },
    })
  }

  async open(): Promise<this> {
    await during(this.world, this.database.open(this.system))
    return this
  }

  /** Runs a turn and records its answer under the label. */
  ask(address: ActorAddress, command: unknown, label = 'it', bytes?: number): void {
    const responder = {
      answered: (value: unknown) => this.outputs.push(`answered ${label} ${JSON.stringify(value)}`),
      refused: (problem: Problem) => this.outputs.push(`refused ${label} ${problem.code}`),
    }
    this.system.turn(address, command, responder, bytes)
  }

  /** As `ask`, with a command of the tally actors. */
  send(address: ActorAddress, command: TallyCommand, label?: string, bytes?: number): void {
    this.ask(address, command, label, bytes)
  }

  settle(): Promise<void> {
    return this.world.settle()
  }

  /** The numbers of a tally with their offsets, as its activation has them now. */
  addedOf(address: ActorAddress): TallyState['added'] {
    return (this.system.peek(address) as TallyState | undefined)?.added ?? []
  }

  /** The numbers of a tally, as its activation has them now. */
  valuesOf(address: ActorAddress): number[] {
    return this.addedOf(address).map(({ value }) => value)
  }

  get epoch(): string {
    return this.journal.epoch
  }

  /** The process dies; the first `writesKept` writes in flight had reached the disk. */
  crash(writesKept = 0): void {
    this.backend.crash(writesKept)
    this.world.kill()
  }

  async close(): Promise<void> {
    await during(this.world, this.database.close())
  }

  async restart(options: RuntimeFixtureOptions = {}): Promise<RuntimeFixture> {
    const { world, backend } = this
    return await new RuntimeFixture({ world, backend, ...options }).open()
  }
}

/** Waits for a promise while the world runs. */
export async function during<T>(world: ManualWorld, promise: Promise<T>): Promise<T> {
  let isDone = false
  const done = promise.finally(() => {
    isDone = true
  })
  done.catch(() => {})
  while (!isDone) {
    await world.settle()
    // Other threads compute signatures and hashes.
    await new Promise((resolve) => setImmediate(resolve))
  }
  return await done
}

export async function openRuntime(options: RuntimeFixtureOptions = {}): Promise<RuntimeFixture> {
  return await new RuntimeFixture(options).open()
}

export async function openFaulty(options: RuntimeFixtureOptions = {}) {
  const world = new ManualWorld()
  const { backend, faults } = faultyStorage(world)
  return { world, backend, faults, fixture: await openRuntime({ world, backend, ...options }) }
}
