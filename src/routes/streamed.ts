import type { Call, Reply } from '#http/call'
import { type Caller, type Principal, principalKey } from '#model/caller'
import { Problem } from '#model/problem'
import type { RouteContext } from '#routes/context'
import type { TextOrParts } from '#routes/state-text'
import { FairQueue } from '#runtime/fair-queue'
import { Slices } from '#runtime/slices'
import { namesOf, type Pages } from '#runtime/storage'
import type { World } from '#runtime/world'

/** Text sent at once. */
const pieceCharacters = 64 * 1024

/** Names read from a listing at once. */
const namesAtATime = 256

/**
 * A long answer in pieces. Each object is read when its text is made. The last piece is sent after everything that was
 * read is stored; no piece is sent after the caller's session ended or the caller's rights changed. Architecture, full
 * reads.
 */
export async function* streamed(
  { world, system }: RouteContext,
  caller: Caller,
  names: Pages,
  frame: { readonly before: string; readonly after: string; readonly isEmptyUnknown?: () => Error },
  textOf: (name: string) => TextOrParts | undefined,
): AsyncGenerator<string> {
  const { closedCount } = system.gate
  let text = frame.before
  let isFirst = true
  const slices = new ReadSlices(world, caller)
  try {
    for (let page = await names.next(namesAtATime); page.length > 0; page = await names.next(namesAtATime)) {
      await slices.next()
      for (const name of page) {
        const item = textOf(name)
        if (item !== undefined) {
          if (!isFirst) text += ','
          isFirst = false
          if (typeof item === 'string') text += item
          else {
            for (const part of item) {
              text += part
              if (text.length < pieceCharacters && !slices.isOver) continue
              yield text
              text = ''
              await slices.next()
            }
          }
        }
        if (text.length < pieceCharacters && !slices.isOver) continue
        if (!isFirst) {
          yield text
          text = ''
        }
        await slices.next()
      }
    }
    if (isFirst && frame.isEmptyUnknown) throw frame.isEmptyUnknown()
    await system.gate.settled(closedCount)
    checkCurrent(caller)
    yield text + frame.after
  } finally {
    await names.close()
  }
}

/** One object, streamed if its text is made in parts. */
export function partsReply(context: RouteContext, { caller }: Call, text: TextOrParts): Reply | Promise<Reply> {
  if (typeof text === 'string') return textReply(context, text)
  const chunks = streamed(context, caller, namesOf(['']), { before: '', after: '' }, () => text)
  return { status: 200, chunks }
}

/** An answer of finished JSON text, of objects that were just read. */
export async function textReply(
  { system }: RouteContext,
  text: string,
  headers: Reply['headers'] = {},
): Promise<Reply> {
  await system.gate.settled()
  return { status: 200, headers, text }
}

/**
 * A long answer ends when the caller loses the right to it. A started answer breaks off, so the client notices.
 * Otherwise the client has to repeat the request and gets the reason.
 *
 * @throws Problem `overloaded`
 */
export function checkCurrent(caller: Caller): void {
  if (!caller.isCurrent()) throw new Problem('overloaded', 'the access rights changed during the answer: try again')
}

/**
 * The slices of one long answer: other requests wait for at most one slice, and no slice starts after the caller lost
 * the right to the answer.
 */
export class ReadSlices extends Slices {
  readonly #caller: Caller
  readonly #turns: ReadTurns

  constructor(world: World, caller: Caller) {
    super(world, undefined, Slices.notBegun)
    this.#caller = caller
    this.#turns = readTurnsOf(world)
  }

  /** Yields to the loop and resumes for the next slice. @throws Problem `overloaded` */
  override async next(): Promise<void> {
    await this.#turns.next(this.#caller)
    checkCurrent(this.#caller)
    this.begin()
  }
}

/**
 * Long answers run one at a time, one slice in each turn of the loop: any other request waits for one slice only,
 * independent of the number of long answers. Users alternate, so that one user with many reads does not slow down
 * others.
 */
class ReadTurns {
  readonly #world: World
  readonly #waiting = new FairQueue<() => void>(Number.POSITIVE_INFINITY)

  constructor(world: World) {
    this.#world = world
  }

  /** Resolves when it is the caller's turn, which lasts until the next await. */
  next(principal: Principal): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.add(principalKey(principal), resolve)
      if (this.#waiting.size === 1) this.#world.soon(() => this.#give())
    })
  }

  #give(): void {
    this.#waiting.take()?.()
    if (this.#waiting.size > 0) this.#world.soon(() => this.#give())
  }
}

const turnsOfWorlds = new WeakMap<World, ReadTurns>()

/** All long answers of one process share the turns. */
export function readTurnsOf(world: World): ReadTurns {
  let turns = turnsOfWorlds.get(world)
  if (!turns) {
    turns = new ReadTurns(world)
    turnsOfWorlds.set(world, turns)
  }
  return turns
}
