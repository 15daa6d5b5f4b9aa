import { type ChildProcess, spawn } from 'node:child_process'
import { addressGroupOf } from '#access/attempts'
import { Problem } from '#model/problem'
import { normalPassword } from '#model/user'
import { FairQueue } from '#runtime/fair-queue'

/** The number of passwords that may wait, without the one that is being hashed. */
const waitingMax = 32

/** From this share of its time on, the event loop counts as busy: events already wait for processors. */
const busyFrom = 1 / 3

/**
 * The pause after each hash while the loop is busy. About ten hashes a second remain, which take a tenth of a
 * processor. Even at low priority, argon2 reads and writes 12 MiB three times, which slows everything that shares
 * caches and memory.
 */
const pauseMs = 100

/** If more passwords wait, the pauses are shorter, because the last password waits for all pauses before it. */
const fewWaiting = 4

/**
 * The hash to check against if there is no account. No known password matches it. It costs as much as a stored hash, so
 * that the time of an answer does not reveal whether there is an account.
 */
export const dummyHash =
  '$argon2id$v=19$m=12288,t=3,p=1$Sm7+wJcFhxTUQM6UfzbDtA$yhKOCBOJuMn2Bi5ZKmOYYNn5KIfIieA/tQ6aFSKRPbU'

/** The client for which a hash is computed. */
export interface HashRequester {
  /** The client address. All client addresses of one IPv6 network share one place in the rotation. */
  readonly address: string
  /** Aborts when no client waits for the answer any more. A hash that has not begun is then skipped. */
  readonly signal?: AbortSignal | undefined
}

/** An account that the password may belong to. */
export interface Candidate {
  /** The stored hash. Undefined: there is no such account. The check takes as long, and never matches. */
  readonly hash: string | undefined
}

interface Job {
  /** Returns the number of computed hashes. Never rejects. */
  run(): Promise<number>
  refuse(problem: Problem): void
}

/** The parts of `World` that the pauses depend on. */
export interface LoadSource {
  after(delayMs: number, task: () => void): void
  loopShare(): number
}

/**
 * Hashes passwords one at a time: each takes a core for 10 to 20 ms and 12 MiB, which the rest of the server needs too.
 * While the event loop is busy, there is a pause after each hash. Client addresses are served in rotation, so that many
 * requests of one address do not delay the others. When the queue is full, a request is refused with a time to retry.
 * Contract 2.
 */
export class Passwords {
  readonly counts = { hashes: 0, refused: 0 }
  readonly #engine: PasswordEngine
  readonly #load: LoadSource | undefined
  readonly #waiting = new FairQueue<Job>(waitingMax)
  #isHashing = false
  #isPausing = false

  /** Without `load` there are no pauses. */
  constructor(engine: PasswordEngine, load?: LoadSource) {
    this.#engine = engine
    this.#load = load
  }

  /** The number of passwords that wait or are being hashed. */
  get waitingCount(): number {
    return this.#waiting.size + (this.#isHashing ? 1 : 0)
  }

  /** Whether a hash has the present parameters. */
  isCurrent(hash: string): boolean {
    return this.#engine.isCurrent(hash)
  }

  /** @throws Problem `overloaded` when too many passwords wait, or when the client no longer waits */
  hash(password: string, requester: HashRequester): Promise<string> {
    return this.#enqueue(requester, async () => this.#hashed(password))
  }

  /**
   * Checks a password against all candidates, as one job of the queue. `candidates` is called when the job begins, and
   * may throw a refusal, because other attempts on the account may have failed meanwhile. `onResult` runs before the
   * next job, so that failures it counts apply to that job.
   *
   * @throws Problem `overloaded` when too many passwords wait, or when the client no longer waits; errors of
   * `candidates` and `onResult`
   */
  verify<C extends Candidate, T>(
    candidates: () => readonly C[],
    password: string,
    requester: HashRequester,
    onResult: (right: readonly C[], wrong: readonly C[]) => T,
  ): Promise<T> {
    return this.#enqueue(requester, async () => {
      const right: C[] = []
      const wrong: C[] = []
      for (const candidate of candidates()) {
        const isRight = await this.#verified(candidate.hash, password)
        if (isRight) right.push(candidate)
        else wrong.push(candidate)
      }
      return onResult(right, wrong)
    })
  }

  /** Call before work that is useless if the password cannot be queued. @throws Problem `overloaded` if it cannot */
  checkQueueSpace(address: string): void {
    if (!this.#waiting.hasRoom(addressGroupOf(address))) throw this.#tooMany()
  }

  #hashed(password: string): Promise<string> {
    this.counts.hashes++
    return this.#engine.hash(normalPassword(password))
  }

  async #verified(hash: string | undefined, password: string): Promise<boolean> {
    this.counts.hashes++
    return (await this.#engine.verify(hash ?? dummyHash, normalPassword(password))) && hash !== undefined
  }

  async #enqueue<T>({ address, signal }: HashRequester, work: () => Promise<T>): Promise<T> {
    if (signal?.aborted) throw clientGone()
    this.checkQueueSpace(address)
    const group = addressGroupOf(address)
    return new Promise<T>((resolve, reject) => {
      const job: Job = {
        run: async () => {
          const before = this.counts.hashes
          await work().then(resolve, reject)
          return this.counts.hashes - before
        },
        refuse: reject,
      }
      this.#waiting.add(group, job)?.refuse(this.#tooMany())
      const cancel = () => {
        if (this.#waiting.remove(group, job)) reject(clientGone())
      }
      signal?.addEventListener('abort', cancel, { once: true })
      if (!this.#isHashing && !this.#isPausing) void this.#work()
    })
  }

  async #work(): Promise<void> {
    const job = this.#waiting.take()
    if (!job) return
    this.#isHashing = true
    const hashes = await job.run()
    this.#isHashing = false
    const load = this.#load
    this.#isPausing = hashes > 0 && load !== undefined && load.loopShare() >= busyFrom
    if (this.#isPausing) load?.after(this.#pauseMs(hashes), () => this.#continue())
    else this.#continue()
  }

  #continue(): void {
    this.#isPausing = false
    void this.#work()
  }

  #pauseMs(hashes: number): number {
    return Math.round((hashes * pauseMs * fewWaiting) / Math.max(this.#waiting.size, fewWaiting))
  }

  #tooMany(): Problem {
    this.counts.refused++
    return new Problem('overloaded', 'too many passwords wait to be checked', { headers: { 'Retry-After': '1' } })
  }
}

/** The refusal of a request whose client has disconnected. */
function clientGone(): Problem {
  return new Problem('overloaded', 'the client no longer waits for this password')
}

/**
 * Hashes and verifies passwords.
 *
 * Obligations: the same password gives a different text each time; the text contains all parameters for its check; a
 * wrong password takes as long as the right one; the password is not stored, and no error contains it.
 */
export interface PasswordEngine {
  hash(password: string): Promise<string>
  /** False for a wrong password. Rejects for a text of another engine, which should never have been stored. */
  verify(hash: string, password: string): Promise<boolean>
  /** Whether this hash has the present parameters. */
  isCurrent(hash: string): boolean
}

/**
 * argon2id (RFC 9106) at the minimum that OWASP recommends. Of the recommended pairs of memory and passes, this one
 * takes the least time here (8 ms of a core): 12 MiB are six huge pages of Linux. All parameters are given, so that new
 * defaults of the library do not change them.
 */
const cost = { memoryCost: 12_288, timeCost: 3, parallelism: 1, outputLen: 32 }

/** The beginning of hashes with these parameters. */
const currentPrefix = `$argon2id$v=19$m=${cost.memoryCost},t=${cost.timeCost},p=${cost.parallelism}$`

/**
 * The program of the hashing process. It is a text, because there is no module file to load when the sources run
 * directly. It exits when its channel to the server closes. It ignores signals that the whole process group receives,
 * so that requests in progress are still answered.
 *
 * It runs at low priority, but not at idle priority (sched(7)), with which any busy program on the machine would stop
 * all sign-ins. At nice 10 the process gets a tenth of a contended processor.
 *
 * On Linux it closes all inherited descriptors of regular files. Otherwise files that LevelDB deletes would keep their
 * disk space.
 */
const program = `
  import { closeSync, fstatSync, readdirSync } from 'node:fs'
  import { createRequire } from 'node:module'
  import { constants, setPriority } from 'node:os'
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {})
  const inherited = process.platform === 'linux' ? readdirSync('/proc/self/fd').map(Number) : []
  for (const file of inherited) {
    try {
      if (file > 2 && fstatSync(file).isFile()) closeSync(file)
    } catch {}
  }
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {}
  process.once('disconnect', () => process.exit())
  process.channel.ref()
  const { hashSync, verifySync } = createRequire(${JSON.stringify(import.meta.url)})('@node-rs/argon2')
  process.on('message', ({ stored, password }) => {
    try {
      const value = stored === undefined ? hashSync(password, ${JSON.stringify(cost)}) : verifySync(stored, password)
      process.send({ value })
    } catch (error) {
      process.send({ error: error.message })
    }
  })
`

interface HashRequest {
  /** The hash to compare the password with. Absent: hash the password. */
  readonly stored?: string
  readonly password: string
}

interface Answer {
  readonly value?: unknown
  readonly error?: string
}

interface PendingHash {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

/**
 * A process for passwords with lower priority than the server: a sign-in can wait, an event cannot. Without this
 * process, a flood of sign-ins on two cores made half of all events ten times slower. A thread would not do: if it
 * waits for a processor while it holds a lock on shared memory, it blocks all other threads. After the process has
 * died, the next password starts it again. The process keeps the server alive only while requests are pending.
 */
class PasswordProcess implements PasswordEngine {
  #child: ChildProcess | undefined
  /** The pending requests, in the order in which the process answers them. */
  readonly #pending: PendingHash[] = []

  hash(password: string): Promise<string> {
    return this.#ask({ password }) as Promise<string>
  }

  verify(stored: string, password: string): Promise<boolean> {
    return this.#ask({ stored, password }) as Promise<boolean>
  }

  isCurrent(hash: string): boolean {
    return hash.startsWith(currentPrefix)
  }

  /**
   * Starts the process. Best called while the server uses little memory, because the start blocks the server. Without
   * this call, the first password starts the process.
   */
  begin(): void {
    this.#child ??= this.#spawn()
  }

  #ask(question: HashRequest): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#child ??= this.#spawn()
      this.#pending.push({ resolve, reject })
      this.#child.channel?.ref()
      this.#child.send(question, () => {})
    })
  }

  #spawn(): ChildProcess {
    const line = [...process.execArgv, '--input-type=module', '--eval', program]
    const child = spawn(process.execPath, line, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    child.unref()
    child.channel?.unref()
    child.on('message', ({ value, error }: Answer) => {
      const request = this.#pending.shift()
      if (this.#pending.length === 0) child.channel?.unref()
      if (error === undefined) request?.resolve(value)
      else request?.reject(new Error(error))
    })
    child.on('error', (error) => this.#ended(child, error))
    child.on('exit', () => this.#ended(child, new Error('the password process ended')))
    return child
  }

  #ended(child: ChildProcess, error: Error): void {
    if (this.#child !== child) return
    this.#child = undefined
    for (const { reject } of this.#pending.splice(0)) reject(error)
  }
}

export const argon2Engine = new PasswordProcess()
