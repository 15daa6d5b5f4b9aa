import { Problem } from '#model/problem'
import type { Activation, AnyDefinition } from '#runtime/activation'
import {
  type ActorAddress,
  type Asker,
  type Decision,
  type Question,
  type Recorded,
  refuse,
  type Tell,
  type Turn,
} from '#runtime/actor'
import { Answer } from '#runtime/answer'
import { Checkpoints, type RedoLimits, redoLimits } from '#runtime/checkpoints'
import { type EventListener, Gate, QueuedAsker } from '#runtime/gate'
import type { Journal } from '#runtime/journal'
import { Registry } from '#runtime/registry'
import { Reminders } from '#runtime/reminders'
import { StoredTells } from '#runtime/stored-tells'
import type { World } from '#runtime/world'

/** Reports for the operator. */
export interface SystemLog {
  bug(error: unknown, where: string): void
  refusedTell(problem: Problem, tell: Tell): void
}

export interface SystemOptions<Event> {
  readonly world: World
  readonly journal: Journal<Event>
  readonly definitions: readonly AnyDefinition<Event>[]
  readonly listener: EventListener<Event>
  readonly log: SystemLog
  /** A commit failed; nothing is taken until the journal was loaded again. */
  readonly commitFailed: (error: unknown) => void
  readonly uncommittedBytesMax: number
  /** Default: `redoLimits`. */
  readonly redo?: RedoLimits
}

/** The command a reminder arrives as. `dueAt`: Unix ms. */
export interface ReminderDue {
  readonly type: 'reminder_due'
  readonly dueAt: number
}

/** Idle activations older than this are forgotten: their state is a 10 µs read away. */
export const forgetAfterMs = 5 * 60_000
/** How often, and how many of them are looked at in one go; all were looked at: how long nobody looks. */
const sweepEveryMs = 250
const sweepCountMax = 2_000
const sweepRestMs = 1_000
/** What a row of an index holds, whose key says everything. */
const present = Uint8Array.of(1)

const turnBytes = 256

/**
 * The actors of this process: one turn at a time, on whichever of them is asked.
 *
 * - `turn` is synchronous and may be called from anywhere but a turn.
 * - The asker hears exactly once, after the gate, in the order of the turns.
 * - A turn that throws changes nothing, is answered with a bug, and costs its activation its life.
 */
export class System<Event> {
  readonly world: World
  readonly registry: Registry<Event>
  readonly gate: Gate<Event>
  readonly reminders: Reminders
  readonly #checkpoints: Checkpoints<Event>
  readonly #tells: StoredTells<Event>
  readonly #options: SystemOptions<Event>
  readonly #turn: { -readonly [K in keyof Turn]: Turn[K] }
  readonly #told: Tell[] = []
  #isTurning = false
  /** Another one was begun during it. */
  #isDisturbed = false
  /** Whose turn it is, or was last. */
  #turning: Activation<Event> | undefined
  #isTelling = false
  #isServing = false
  /** World.monotonic of the last sweep: near enough for what was touched, and cheaper than the clock at each turn. */
  #sweptAtMs = 0
  #cancelSweep: (() => void) | undefined

  constructor(options: SystemOptions<Event>) {
    const { world, journal, definitions, log } = options
    this.#options = options
    this.world = world
    this.registry = new Registry(definitions, journal)
    this.gate = new Gate({
      world,
      journal,
      listener: options.listener,
      beforeSeal: () => this.#checkpoints.put(),
      failed: (error) => this.#commitFailed(error),
      bug: (error) => log.bug(error, 'release'),
      uncommittedBytesMax: options.uncommittedBytesMax,
    })
    this.registry.attach(this.gate)
    this.#checkpoints = new Checkpoints(this.registry, this.gate, options.redo ?? redoLimits, (error) =>
      log.bug(error, 'checkpoint'),
    )
    this.reminders = new Reminders(world, (address, dueAt) => this.#remind(address, dueAt))
    this.#tells = new StoredTells(this.gate, journal, (tell) => this.#tell(tell))
    this.#turn = {
      tenant: '',
      now: 0,
      random: (byteCount) => world.random(byteCount),
      reminder: () => (this.#turning && this.reminders.dueAt(this.#turning.address)) ?? null,
    }
  }

  /** Whether questions are answered: false while the store is being read. */
  get isServing(): boolean {
    return this.#isServing
  }

  /**
   * Asks an actor, awake or not. `bytes`: what the command weighs while it waits; 0 for what may not be refused because
   * too much waits already (tells, reminders: they follow from what was accepted).
   */
  turn(address: ActorAddress, command: unknown, asker: Asker, bytes = turnBytes): void {
    if (!this.#isServing) {
      asker.refused(new Problem('storage'))
      return
    }
    const wasAwake = this.registry.awake(address) !== undefined
    let activation: Activation<Event>
    try {
      activation = this.registry.wake(address)
    } catch (error) {
      this.#options.log.bug(error, `waking ${address.kind} ${address.id}`)
      asker.refused(new Problem('bug'))
      return
    }
    this.turnOf(activation, command, asker, bytes)
    if (!wasAwake) this.registry.forgetNothing(activation)
  }

  /** The same, for who keeps the activation at hand. It must be alive: what a dead one takes, the next one knows nothing of. */
  turnOf(activation: Activation<Event>, command: unknown, asker: Asker, bytes = turnBytes): void {
    if (this.#isTurning) {
      this.#isDisturbed = true
      throw disturbed()
    }
    if (!activation.isAlive) throw new Error(`a turn of ${activation.definition.kind} ${activation.id}, which is dead`)
    this.#isTurning = true
    let decision: Decision<Event>
    try {
      decision = this.#decideAndApply(activation, command, bytes)
    } catch (error) {
      this.#options.log.bug(error, `a turn of ${activation.definition.kind} ${activation.id}`)
      this.registry.kill(activation)
      decision = refuse(new Problem('bug'))
    } finally {
      this.#isTurning = false
      this.#isDisturbed = false
    }
    // First: the answer waits for what the turn told, also when nothing else does.
    if (this.#told.length > 0) this.#runTells()
    this.#say(asker, decision)
  }

  /** The same as a promise, which rejects with the Problem. */
  ask<Command>(
    address: ActorAddress<unknown, Command>,
    command: NoInfer<Command>,
    bytes = turnBytes,
  ): Promise<unknown> {
    return new Promise((answered, refused) => this.turn(address, command, { answered, refused }, bytes))
  }

  /**
   * Asks what `prepare` returns, with no other turn between what `prepare` read and this one. It cannot wait: a function
   * that returns a promise has the wrong type.
   */
  askAtOnce<const Command>(prepare: () => Question<Command>): Promise<unknown> {
    const { to, command, bytes } = prepare()
    return this.ask(to, command, bytes)
  }

  /**
   * An actor's state in memory, perhaps not stored yet, without waking the actor. Wait for `gate.settled` before the state
   * leaves the server, or decide by it within `askAtOnce`. @throws Problem `storage`
   */
  look<Seen>(address: ActorAddress<Seen>): Seen {
    if (!this.#isServing) throw new Problem('storage')
    return seenOf(this.registry.look(address))
  }

  /** The same of an actor that is read often: it wakes. Its tenant must exist. @throws Problem `storage` */
  wake<Seen>(address: ActorAddress<Seen>): Seen {
    if (!this.#isServing) throw new Problem('storage')
    return seenOf(this.registry.wake(address))
  }

  /**
   * One record of an actor as it is now, without waking it; wait for `gate.settled` before showing it to anybody.
   * Undefined when there is none.
   * @throws Problem storage
   */
  recordOf(address: ActorAddress, name: string): unknown {
    if (!this.#isServing) throw new Problem('storage')
    return this.registry.recordOf(address, name)
  }

  /**
   * Ends all that is awake of a tenant, without a snapshot: of its entries none is applied again after the next commit that
   * touches its stream, and no reminder comes. What is stored stays, and a turn would wake its actor from that: whoever
   * deletes a tenant sees to it that none is asked any more.
   */
  forgetTenant(tenant: string): void {
    if (this.#isTurning) throw new Error(`${tenant} is forgotten during a turn`)
    this.reminders.dropTenant(tenant)
    this.registry.forgetTenant(tenant)
    this.registry.head(tenant).untold++
  }

  /** Begins to answer, after everything was loaded. */
  serve(): void {
    this.#isServing = true
    this.gate.reopen()
    this.#tells.run()
    this.reminders.start()
    this.#sweep()
  }

  /** Answers on from what is stored, but records nothing: the store takes no writes. */
  serveReadOnly(): void {
    this.#isServing = true
  }

  /** Forgets everything. What waited is refused. */
  forgetAll(problem: Problem): void {
    this.#isServing = false
    this.#cancelSweep?.()
    this.reminders.clear()
    this.#checkpoints.clear()
    this.#tells.clear()
    this.gate.close(problem)
    this.registry.forgetAll()
  }

  /** Read from the store: a tell of an earlier commit that still has to run. Null: it ran. */
  loadTell(sequence: number, tell: Tell | null): void {
    this.#tells.load(sequence, tell)
  }

  /** What was decided, or why that could not be kept. */
  #decideAndApply(activation: Activation<Event>, command: unknown, bytes: number): Decision<Event> {
    const { definition, state } = activation
    activation.touchedAtMs = this.#sweptAtMs
    this.#turning = activation
    this.#turn.tenant = activation.tenant
    this.#turn.now = this.world.now()
    const decision = definition.decide(state, command, this.#turn)
    // Whoever began it may have caught that it was refused.
    if (this.#isDisturbed) throw disturbed()
    if (decision.type !== 'record') return decision
    if (!this.gate.isOpen) return refuse(new Problem('storage'))
    if (bytes > 0 && this.gate.isFull) return refuse(new Problem('overloaded'))
    this.#record(activation, decision, bytes)
    return decision
  }

  #record(activation: Activation<Event>, decision: Recorded<Event>, bytes: number): void {
    const { definition, state, tenant } = activation
    const { journal } = this.#options
    const { events } = decision
    const head = this.registry.head(tenant)
    const packed = decision.records?.map(({ name, value }) => ({
      name,
      bytes: value === null ? null : this.registry.pack(activation, name, value),
    }))
    const shared = decision.shared?.map((each) => journal.shared(each))
    const first = head.taken + 1
    if (decision.changes) {
      for (const change of decision.changes) {
        definition.change?.(state, change)
        activation.isChanged = definition.rest === 'redo'
        // What is written through is no part of what is read at a place in the stream.
        if (definition.rest === 'redo') head.untold++
      }
    }
    for (let index = 0; index < events.length; index++) definition.apply(state, events[index] as Event, first + index)
    if (events.length > 0) activation.lastOffset = head.taken + events.length
    const snapshot = decision.isCheckpointed ? this.registry.snapshot(activation) : undefined
    // All that may throw is above this line and in `take`: a turn that throws leaves nothing in the commit.
    if (events.length > 0) {
      const bytesBefore = head.bytesTaken
      this.gate.take(head, events, bytes)
      if (definition.rest === 'redo') head.redo.add(activation, first, bytesBefore)
    }
    if (packed) {
      for (const { name, bytes } of packed) {
        this.gate.put(this.registry.recordKey(activation.address, name), bytes)
        if (definition.rest === 'written_through') this.registry.knowRecord(activation.address, name, bytes !== null)
      }
    }
    if (decision.indexes) {
      for (const { index, entry, isPresent } of decision.indexes) {
        this.gate.put(journal.indexKey(tenant, index, entry), isPresent ? present : null)
      }
    }
    if (shared) for (const { key, value } of shared) this.gate.put(key, value)
    if (snapshot !== undefined) this.#checkpoints.save(activation, snapshot)
    if (decision.reminder !== undefined) this.#setReminder(activation.address, decision.reminder)
    if (decision.tells) for (const tell of decision.tells) this.#told.push(tell)
  }

  #setReminder(address: ActorAddress, dueAt: number | null): void {
    this.reminders.set(address, dueAt)
    const { journal } = this.#options
    this.gate.put(journal.reminderKey(address), dueAt === null ? null : journal.pack(reminderFormat, dueAt))
  }

  #say(asker: Asker, decision: Decision<Event>): void {
    if (decision.type === 'refuse') {
      const { problem } = decision
      if (problem.kind.isTemporary) asker.refusing?.(problem)
      this.gate.say({ leave: () => asker.refused(problem), refuse: (other) => asker.refused(other) })
      return
    }
    const say = asker instanceof QueuedAsker ? asker : new Answer(asker)
    if (decision.type === 'answer') say.answer = decision.value
    else {
      say.answer = decision.answer
      say.effects = decision.effects
    }
    this.gate.say(say)
  }

  /** Tells run in the commit of the turn that told, in order, without end until nobody tells any more. */
  #runTells(): void {
    if (this.#isTelling) return
    this.#isTelling = true
    for (let index = 0; index < this.#told.length; index++) {
      const tell = this.#told[index] as Tell
      try {
        this.#tells.give(tell)
      } catch (error) {
        this.#options.log.bug(error, `telling ${tell.to.kind} ${tell.to.id}`)
      }
    }
    this.#told.length = 0
    this.#isTelling = false
  }

  #tell(tell: Tell): void {
    const asker = { answered: () => {}, refused: (problem: Problem) => this.#options.log.refusedTell(problem, tell) }
    this.turn(tell.to, tell.command, asker, 0)
  }

  #remind(address: ActorAddress, dueAt: number): void {
    const due: ReminderDue = { type: 'reminder_due', dueAt }
    // Deleted first: the turn may set the next one. Both are in one commit.
    this.gate.put(this.#options.journal.reminderKey(address), null)
    const where = `a reminder of ${address.kind} ${address.id}`
    const refused = (problem: Problem) => {
      // A failed write refuses it. It is still stored, and comes again when the store has been read.
      if (problem.code !== 'storage') this.#options.log.bug(problem, where)
    }
    const asker = { answered: () => {}, refused }
    this.turn(address, due, asker, 0)
  }

  #commitFailed(error: unknown): void {
    this.forgetAll(new Problem('storage'))
    this.#options.commitFailed(error)
  }

  /** Looks at some activations: idle ones are saved if need be, and forgotten once they are. */
  #sweep(): void {
    const { world } = this.#options
    this.#cancelSweep?.()
    this.#sweptAtMs = world.monotonic()
    this.#cancelSweep = world.after(this.registry.isSwept ? sweepRestMs : sweepEveryMs, () => {
      const idleSince = world.monotonic() - forgetAfterMs
      for (const activation of this.registry.nextForSweep(sweepCountMax)) {
        if (activation.touchedAtMs > idleSince) continue
        if (!(activation.definition.isForgettable?.(activation.state) ?? true)) continue
        if (activation.isChanged || activation.isUnsaved) this.#checkpoints.ask(activation)
        else this.registry.forget(activation)
      }
      this.#sweep()
    })
  }
}

function seenOf<Seen, Event>({ definition, state }: Activation<Event>): Seen {
  return (definition.isThere?.(state) === false ? undefined : state) as Seen
}

function disturbed(): Error {
  return new Error('a turn during a turn')
}

/** A stored reminder is its deadline, Unix ms. */
export const reminderFormat = { name: 'reminder', version: 1, upgrades: {} }
