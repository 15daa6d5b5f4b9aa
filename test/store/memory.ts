import {
  type Operation,
  type Row,
  type Scan,
  type ScanRange,
  type Storage,
  type StorageBackend,
  StorageFailure,
  type StorageFailureCode,
} from '#runtime/storage'
import type { World } from '#runtime/world'
import { type FrozenRows, Rows, rowsIn } from '#test/store/memory-rows'

/** Injected faults; `undefined` means no fault. */
interface MemoryFaults {
  /** Called once for each write. A failed write that `reachedDisk` is there after the next `open`. */
  beforeWrite?(operations: readonly Operation[]): WriteFault | undefined
  beforeOpen?(): StorageFailureCode | undefined
}

export interface WriteFault {
  readonly fail: 'full' | 'io'
  readonly reachedDisk: boolean
}

export interface MemoryStorageOptions {
  /** Completes operations with `soon`; without it, they complete as microtasks. */
  readonly world?: World
  /**
   * Completion takes 0 to this many milliseconds, by the random bytes of the world. They also decide whether reads see a
   * write in flight, and whether a page of a scan ends early. The port allows all of this.
   */
  readonly delayMsMax?: number
  readonly faults?: MemoryFaults
}

export interface MemoryBackend extends StorageBackend {
  readonly hasHeadroom: boolean
  setRoom(hasRoom: boolean): void
  /**
   * The process dies: its promises never settle, its handle is dead, and `open` returns a handle on the durable rows.
   * The first `writesKept` writes in flight reached the disk (never fewer than reads could already see).
   */
  crash(writesKept?: number): void
  /** The machine dies: as `crash()`, and all writes after the last one with `sync` are lost. */
  losePower(): void
}

/**
 * Storage in memory, without timers and with the random bytes of the world, so one seed gives one run.
 * `write` copies the bytes; `get` and scans return that copy.
 */
export function memoryStorage(options: MemoryStorageOptions = {}): MemoryBackend {
  return new Memory(options)
}

class Memory implements MemoryBackend {
  readonly #options: MemoryStorageOptions
  /** The rows that a process finds when it starts now. */
  rows = new Rows()
  #rowsSynced = this.rows.freeze()
  /** Failed writes that reached the disk: only the next handle sees them. */
  #lateWrites: (readonly Operation[])[] = []
  #holder: MemoryStorage | 'opening' | undefined
  #life = 0
  #hasRoom = true
  hasHeadroom = true

  constructor(options: MemoryStorageOptions) {
    this.#options = options
  }

  open(): Promise<Storage> {
    if (this.#holder) return Promise.reject(new StorageFailure('locked', 'memory: open already'))
    this.#holder = 'opening'
    return this.later(() => {
      const fault = this.#options.faults?.beforeOpen?.()
      this.#holder = undefined
      if (fault) throw new StorageFailure(fault, `memory: ${fault}, as injected`)
      for (const operations of this.#lateWrites.splice(0)) this.rows.apply(operations)
      const storage = new MemoryStorage(this)
      this.#holder = storage
      return storage
    })
  }

  hasRoom(): Promise<boolean> {
    return this.later(() => this.#hasRoom)
  }

  releaseHeadroom(): Promise<void> {
    return this.later(() => {
      this.hasHeadroom = false
    })
  }

  restoreHeadroom(): Promise<void> {
    return this.later(() => {
      this.hasHeadroom ||= this.#hasRoom
    })
  }

  setRoom(hasRoom: boolean): void {
    this.#hasRoom = hasRoom
  }

  crash(writesKept = 0): void {
    if (this.#holder instanceof MemoryStorage) this.#holder.die(writesKept)
    this.#holder = undefined
    this.#life += 1
  }

  losePower(): void {
    this.crash()
    this.rows = new Rows(this.#rowsSynced)
    this.#lateWrites = []
  }

  release(): void {
    this.#holder = undefined
  }

  land(operations: readonly Operation[], sync: boolean): void {
    this.rows.apply(operations)
    if (sync) this.#rowsSynced = this.rows.freeze()
  }

  landLate(operations: readonly Operation[]): void {
    this.#lateWrites.push(operations)
  }

  faultOf(operations: readonly Operation[]): WriteFault | undefined {
    return this.#options.faults?.beforeWrite?.(operations)
  }

  /** Settles with the result of `task` at a time that the world decides; never, if the process died meanwhile. */
  later<T>(task: () => T): Promise<T> {
    const { world, delayMsMax = 0 } = this.#options
    const life = this.#life
    return new Promise((resolve, reject) => {
      const run = () => {
        if (life !== this.#life) return
        try {
          resolve(task())
        } catch (error) {
          reject(error)
        }
      }
      if (!world) queueMicrotask(run)
      else if (delayMsMax === 0) world.soon(run)
      else world.after(this.chance(delayMsMax + 1), run)
    })
  }

  /** A number from 0 to `below` - 1; always 0 without delays. */
  chance(below: number): number {
    const { world, delayMsMax = 0 } = this.#options
    if (!world || delayMsMax === 0) return 0
    const [first = 0, second = 0, third = 0] = world.random(3)
    return ((first << 16) | (second << 8) | third) % below
  }
}

interface WriteInFlight {
  readonly operations: readonly Operation[]
  readonly sync: boolean
  fault: WriteFault | undefined
  hasLanded: boolean
  readonly resolve: () => void
  readonly reject: (failure: StorageFailure) => void
}

class MemoryStorage implements Storage {
  readonly #memory: Memory
  /** In the order of their calls; the first is in progress. */
  #writes: WriteInFlight[] = []
  #isPoisoned = false
  isDead = false
  #closing: Promise<void> | undefined
  #onIdle: (() => void) | undefined

  constructor(memory: Memory) {
    this.#memory = memory
  }

  get(key: string): Uint8Array | undefined {
    this.assertOpen()
    return this.#memory.rows.get(key)
  }

  write(operations: readonly Operation[], { sync }: { readonly sync: boolean }): Promise<void> {
    if (this.isDead) return new Promise(() => undefined)
    if (this.#closing !== undefined) return Promise.reject(closedFailure())
    const copy = operations.map(({ key, value }) => ({ key, value: value && Uint8Array.from(value) }))
    return new Promise((resolve, reject) => {
      this.#writes.push({ operations: copy, sync, fault: undefined, hasLanded: false, resolve, reject })
      if (this.#writes.length === 1) this.#startFirst()
    })
  }

  scan(range: ScanRange): Scan {
    this.assertOpen()
    return new MemoryScan(this.#memory, this, this.#memory.rows.freeze(), range)
  }

  /** The rows stand in for the disk, so they do not count. */
  memoryBytes(): number {
    return 0
  }

  async diskBytes(): Promise<number> {
    this.assertOpen()
    let bytes = 0
    const scan = this.scan({ after: '', before: '\u{10ffff}', hasValues: true })
    for (let page = await scan.next(1_000); page.length > 0; page = await scan.next(1_000))
      for (const { key, value } of page) bytes += Buffer.byteLength(key) + value.length
    await scan.close()
    return bytes
  }

  async compact(): Promise<void> {
    this.assertOpen()
  }

  close(): Promise<void> {
    if (this.isDead) return Promise.resolve()
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    if (this.#writes.length > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve
      })
    }
    await this.#memory.later(() => this.#memory.release())
  }

  die(writesKept: number): void {
    this.isDead = true
    for (const write of this.#isPoisoned ? [] : this.#writes.slice(0, writesKept)) {
      if (!write.fault || write.fault.reachedDisk) this.#land(write)
      if (write.fault) break
    }
  }

  assertOpen(): void {
    if (this.isDead || this.#closing !== undefined) throw closedFailure()
  }

  #startFirst(): void {
    const [write] = this.#writes
    if (!write) {
      this.#onIdle?.()
      return
    }
    if (!this.#isPoisoned) write.fault = this.#memory.faultOf(write.operations)
    if (this.isDead) return
    if (!this.#isPoisoned && !write.fault && this.#memory.chance(2) === 1) this.#land(write)
    void this.#memory.later(() => {
      this.#finish(write)
      this.#writes.shift()
      this.#startFirst()
    })
  }

  #finish(write: WriteInFlight): void {
    const { fault, resolve, reject } = write
    if (this.#isPoisoned) {
      reject(new StorageFailure('poisoned', 'memory: an earlier write failed; reopen it'))
    } else if (fault) {
      this.#isPoisoned = true
      if (fault.reachedDisk) this.#memory.landLate(write.operations)
      reject(new StorageFailure(fault.fail, `memory: ${fault.fail}, as injected`))
    } else {
      this.#land(write)
      resolve()
    }
  }

  #land(write: WriteInFlight): void {
    if (!write.hasLanded) this.#memory.land(write.operations, write.sync)
    write.hasLanded = true
  }
}

class MemoryScan implements Scan {
  readonly #memory: Memory
  readonly #storage: MemoryStorage
  readonly #rows: Iterator<Row>
  #isReading = false
  #isClosed = false

  constructor(memory: Memory, storage: MemoryStorage, frozen: FrozenRows, range: ScanRange) {
    this.#memory = memory
    this.#storage = storage
    this.#rows = rowsIn(frozen, range)
  }

  async next(countMax: number): Promise<readonly Row[]> {
    if (this.#storage.isDead) return new Promise(() => undefined)
    if (this.#isReading) throw new Error('One call of next at a time')
    if (this.#isClosed) throw closedFailure()
    this.#storage.assertOpen()
    this.#isReading = true
    const rows = await this.#memory.later(() => this.#take(this.#memory.chance(4) === 1 ? 1 : countMax))
    this.#isReading = false
    return rows
  }

  async close(): Promise<void> {
    this.#isClosed = true
  }

  #take(countMax: number): Row[] {
    const rows: Row[] = []
    while (rows.length < Math.max(1, countMax)) {
      const { done, value } = this.#rows.next()
      if (done) break
      rows.push(value)
    }
    return rows
  }
}

function closedFailure(): StorageFailure {
  return new StorageFailure('closed', 'memory: the store was closed')
}
