import { Problem } from '#model/problem'
import type { Activation, AnyDefinition } from '#runtime/activation'
import {
  type ActorAddress,
  type CommandOf,
  type Decision,
  effectsOf,
  indexesOf,
  type Question,
  type Recorded,
  type Responder,
  refuse,
  type Tell,
  type Turn,
} from '#runtime/actor'
import { Answer, QueuedResponder } from '#runtime/answer'
import { Checkpoints, type RedoLimits, redoLimits } from '#runtime/checkpoints'
import { Reminders, reminderFormat } from '#runtime/due-queue'
import { Gate, type GateOptions } from '#runtime/gate'
import { Registry } from '#runtime/registry'
import { StoredTells } from '#runtime/stored-tells'
import type { World } from '#runtime/world'

/** Reports for the operator. */
export interface SystemLog {
  bug(error: unknown, where: string): void
  refusedTell(problem: Problem, tell: Tell): void
}

export interface SystemOptions<Event>
  extends Pick<GateOptions<Event>, 'world' | 'journal' | 'listener' | 'uncommittedBytesMax' | 'commitEveryMs'> {
  readonly definitions: readonly AnyDefinition<Event>[]
  readonly log: SystemLog
  /** Called by `storageFailed`, so also after a failed commit. Turns are refused until the store was read again. */
  readonly commitFailed: (error: unknown) => void
  /** Default: `redoLimits`. */
  readonly redo?: RedoLimits
}

/** In a table of commands: the command for a due reminder. `dueAt`: Unix ms. */
export interface Reminded {
  reminder_due: { readonly dueAt: number }
}

/** An activation without a turn for this long is ended: reading its state again takes 10 µs. */
export const forgetAfterMs = 5 * 60_000
/** Every `sweepEveryMs`, `sweepCountMax` activations are checked. After the last ones, the sweep pauses for `sweepRestMs`. */
const sweepEveryMs = 250
const sweepCountMax = 2_000
const sweepRestMs = 1_000
/** The value of an index entry. Its key has all the information. */
const present = Uint8Array.of(1)

/** The default weight of a command. */
const turnBytes = 256

/**
 * The actors of this process, one turn at a time.
 *
 * - `turn` is synchronous and may be called anywhere except inside a turn.
 * - The responder is called exactly once: after the commits that the answer may reflect, in the order of the turns; or
 *   at once, if the system does not serve or the actor cannot be loaded.
 * - A turn that throws changes nothing, is answered with `bug`, and ends its activation.
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
  readonly #pendingTells: Tell[] = []
  #isTurning = false
  /** Another turn was started during this one. */
  #isNested = false
  /** The activation of the present or last turn. */
  #turning: Activation<Event> | undefined
  #isRunningTells = false
  #isServing = false
  /** World.monotonic of the sweep's last step. Exact enough for idleness, and cheaper than a clock read in each turn. */
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
      failed: (error) => this.storageFailed(error),
      bug: (error) => log.bug(error, 'release'),
      uncommittedBytesMax: options.uncommittedBytesMax,
      commitEveryMs: options.commitEveryMs,
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

  /** Whether turns run. False until the store has been read, also after a failed commit. */
  get isServing(): boolean {
    return this.#isServing
  }

  /**
   * Runs a turn of an actor. `bytes`: the weight of the command while it waits; 0 for commands that must not be refused
   * for overload (messages of actors, reminders), because they follow from accepted ones.
   */
  turn(address: ActorAddress, command: unknown, responder: Responder, bytes = turnBytes): void {
    if (!this.#isServing) {
      responder.refused(new Problem('storage'))
      return
    }
    const wasAwake = this.registry.awake(address) !== undefined
    let activation: Activation<Event>
    try {
      activation = this.registry.wake(address)
    } catch (error) {
      this.#options.log.bug(error, `waking ${address.kind} ${address.id}`)
      responder.refused(new Problem('bug'))
      return
    }
    this.turnOf(activation, command, responder, bytes)
    if (!wasAwake) this.registry.releaseIfEmpty(activation)
  }

  /** Like `turn`, for an activation of the caller, which must be alive: changes of an ended one would be lost. */
  turnOf(activation: Activation<Event>, command: unknown, responder: Responder, bytes = turnBytes): void {
    if (this.#isTurning) {
      this.#isNested = true
      throw nestedTurn()
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
      this.#isNested = false
    }
    // Messages first: the answer waits for their changes, even if the turn itself changed nothing.
    if (this.#pendingTells.length > 0) this.#runTells()
    this.#respond(responder, decision, activation)
  }

  /** Like `turn`, as a promise, which rejects with the Problem. */
  ask<Command>(
    address: ActorAddress<unknown, Command>,
    command: NoInfer<Command>,
    bytes = turnBytes,
  ): Promise<unknown> {
    return new Promise((answered, refused) => this.turn(address, command, { answered, refused }, bytes))
  }

  /** Calls `prepare` and runs the command that it returns, without another turn in between. */
  askAtOnce<const Command>(prepare: () => Question<Command>): Promise<unknown> {
    const { to, command, bytes } = prepare()
    return this.ask(to, command, bytes)
  }

  /**
   * The present state of an actor, perhaps not stored yet. Adds no activation. Use the state within `askAtOnce`, or
   * wait for `gate.whenStored` before the state leaves the server. @throws Problem `storage`
   */
  peek<Seen>(address: ActorAddress<Seen>): Seen {
    if (!this.#isServing) throw new Problem('storage')
    return visibleState(this.registry.peek(address))
  }

  /** Like `peek`, but adds an activation, for frequent reads. The tenant must exist. @throws Problem `storage` */
  wake<Seen>(address: ActorAddress<Seen>): Seen {
    if (!this.#isServing) throw new Problem('storage')
    return visibleState(this.registry.wake(address))
  }

  /** Like `peek`, for one record; undefined if there is none. @throws Problem `storage` */
  recordOf(address: ActorAddress, name: string): unknown {
    if (!this.#isServing) throw new Problem('storage')
    return this.registry.recordOf(address, name)
  }

  /**
   * Ends all activations of a tenant, without snapshots. After the next commit of its stream, none of its events is
   * applied again; no reminder fires. Stored records stay, and a turn would activate an actor from them: a
   * caller that deletes a tenant must prevent further turns.
   */
  forgetTenant(tenant: string): void {
    if (this.#isTurning) throw new Error(`${tenant} is forgotten during a turn`)
    this.reminders.dropTenant(tenant)
    this.registry.forgetTenant(tenant)
    this.registry.head(tenant).silentChanges++
  }

  /** Begins to serve, after everything was loaded. */
  serve(): void {
    this.#isServing = true
    this.gate.reopen()
    this.#tells.run()
    this.reminders.start()
    this.#sweep()
  }

  /** Answers reads from the stored state and records nothing: the store refuses writes, or another node owns it. */
  serveReadOnly(): void {
    this.gate.close(new Problem('storage'))
    this.#isServing = true
  }

  /** Stops serving: ends all activations and refuses pending changes. */
  forgetAll(problem: Problem): void {
    this.#isServing = false
    this.#cancelSweep?.()
    this.reminders.clear()
    this.#checkpoints.clear()
    this.#tells.clear()
    this.gate.close(problem)
    this.registry.forgetAll()
  }

  /** Loads a stored message that waits for delivery. Null: the message was delivered, and waits no longer. */
  loadTell(sequence: number, tell: Tell | null): void {
    this.#tells.load(sequence, tell)
  }

  /** Returns the decision, or the reason why it could not be recorded. */
  #decideAndApply(activation: Activation<Event>, command: unknown, bytes: number): Decision<Event> {
    const { definition, state } = activation
    activation.touchedAtMs = this.#sweptAtMs
    this.#turning = activation
    this.#turn.tenant = activation.tenant
    this.#turn.now = this.world.now()
    const decision = definition.decide(state, command, this.#turn)
    // The caller of the nested turn may have caught the error.
    if (this.#isNested) throw nestedTurn()
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
    if (definition.persistence === 'write_through') {
      for (const change of decision.records ?? []) definition.change?.(state, change)
    } else if (decision.changes) {
      for (const change of decision.changes) {
        definition.change?.(state, change)
        activation.isChanged = true
        head.silentChanges++
      }
    }
    for (let index = 0; index < events.length; index++) definition.apply(state, events[index] as Event, first + index)
    if (events.length > 0) activation.lastOffset = head.taken + events.length
    const snapshot = decision.isCheckpointed ? this.registry.snapshot(activation) : undefined
    // Everything that may throw is above this line or in `take`: a turn that throws adds nothing to the commit.
    if (events.length > 0) {
      const bytesBefore = head.bytesTaken
      this.gate.take(head, events, bytes)
      if (definition.persistence === 'redo') head.redo.add(activation, first, bytesBefore)
    }
    if (packed) {
      for (const { name, bytes } of packed) {
        this.gate.put(this.registry.recordKey(activation.address, name), bytes)
        if (definition.persistence === 'write_through')
          this.registry.trackRecord(activation.address, name, bytes !== null)
      }
    }
    for (const { index, entry, isPresent } of indexesOf(definition, decision, first)) {
      this.gate.put(journal.indexKey(tenant, index, entry), isPresent ? present : null)
    }
    if (shared) for (const { key, value } of shared) this.gate.put(key, value)
    if (snapshot !== undefined) this.#checkpoints.save(activation, snapshot)
    if (decision.reminder !== undefined) this.#setReminder(activation.address, decision.reminder)
    if (decision.tells) for (const tell of decision.tells) this.#pendingTells.push(tell)
  }

  #setReminder(address: ActorAddress, dueAt: number | null): void {
    this.reminders.set(address, dueAt)
    const { journal } = this.#options
    this.gate.put(journal.reminderKey(address), dueAt === null ? null : journal.pack(reminderFormat, dueAt))
  }

  #respond(responder: Responder, decision: Decision<Event>, { definition, address }: Activation<Event>): void {
    if (decision.type === 'refuse') {
      const { problem } = decision
      if (problem.kind.isTemporary) responder.refusing?.(problem)
      this.gate.afterCommit({
        committed: () => responder.refused(problem),
        failed: (other) => responder.refused(other),
      })
      return
    }
    const callback = responder instanceof QueuedResponder ? responder : new Answer(responder)
    if (decision.type === 'answer') callback.answer = decision.value
    else {
      callback.answer = decision.answer
      callback.effects = effectsOf(definition, address, decision)
    }
    this.gate.afterCommit(callback)
  }

  /** Delivers the messages of a turn in its commit, in order, and the messages that these cause. */
  #runTells(): void {
    if (this.#isRunningTells) return
    this.#isRunningTells = true
    for (let index = 0; index < this.#pendingTells.length; index++) {
      const tell = this.#pendingTells[index] as Tell
      try {
        this.#tells.give(tell)
      } catch (error) {
        this.#options.log.bug(error, `telling ${tell.to.kind} ${tell.to.id}`)
      }
    }
    this.#pendingTells.length = 0
    this.#isRunningTells = false
  }

  #tell(tell: Tell): void {
    const responder = {
      answered: () => {},
      refused: (problem: Problem) => this.#options.log.refusedTell(problem, tell),
    }
    this.turn(tell.to, tell.command, responder, 0)
  }

  #remind(address: ActorAddress, dueAt: number): void {
    const due: CommandOf<Reminded> = { type: 'reminder_due', dueAt }
    // Deleted first, because the turn may set the next one. Both are in one commit.
    this.gate.put(this.#options.journal.reminderKey(address), null)
    const where = `a reminder of ${address.kind} ${address.id}`
    const refused = (problem: Problem) => {
      // After a failed write, the reminder is still stored and fires when the store has been read again.
      if (problem.code !== 'storage') this.#options.log.bug(problem, where)
    }
    const responder = { answered: () => {}, refused }
    this.turn(address, due, responder, 0)
  }

  /** Nothing can be stored any more: pending changes are refused. */
  storageFailed(error: unknown): void {
    this.forgetAll(new Problem('storage'))
    this.#options.commitFailed(error)
  }

  /** Regularly checks some activations. An idle one is ended; if it has unsaved changes, it is saved first. */
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

function visibleState<Seen, Event>({ definition, state }: Activation<Event>): Seen {
  return (definition.exists?.(state) === false ? undefined : state) as Seen
}

function nestedTurn(): Error {
  return new Error('a turn during a turn')
}
