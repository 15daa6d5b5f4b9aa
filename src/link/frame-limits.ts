import { Problem } from '#model/problem'

/** An UPDATE of the service of a HELLO is five deep; the rest is for fields of newer devices. */
export const frameDepthMax = 8

/** One for each byte of the default `LINK_FRAME_BYTES_MAX`, so no frame within that is refused for its values. */
export const frameValuesMax = 262_144

/** A list or an object costs some ten times as much as a number. A HELLO of the default length has at most 20 000. */
export const frameListsMax = 65_536

/**
 * Fields that no message has, in one frame: a newer device may send a few in each object. Every name that was not seen
 * before costs about a microsecond, so as many names as fit into a frame would hold the server up.
 */
export const unknownFieldsMax = 4_096

/** Every field of a message that a device may send, at any depth. Contract 7. */
export const deviceFields = [
  ...['type', 'deviceIdentifier', 'session', 'project', 'firmwares', 'firmware', 'hardware', 'index', 'autoUpdate'],
  ...['services', 'serviceIdentifier', 'properties', 'propId', 'value', 'modifier', 'isReadOnly', 'isActionable'],
  ...['isVolatile', 'isError', 'isArray', 'flakeAddress', 'seq', 'updates', 'error', 'timestamp', 'id', 'results'],
  ...['status', 'message', 'progress'],
  // A short error.
  'e',
] as const

export function notFrame(why: string): Problem {
  return new Problem('bad_request', `not a frame: ${why}`)
}

/**
 * Counts the cost of a frame while it is read. Each method throws when the frame is over a limit.
 * @throws Problem `bad_request`
 */
export class FrameCost {
  #values = 0
  #lists = 0
  #unknownFields = 0

  value(): void {
    if (++this.#values > frameValuesMax) throw notFrame(`more than ${frameValuesMax} values`)
  }

  /** `depth`: of the lists and objects around it, and itself. */
  list(depth: number): void {
    if (depth > frameDepthMax) throw notFrame(`more than ${frameDepthMax} lists and objects in one another`)
    if (++this.#lists > frameListsMax) throw notFrame(`more than ${frameListsMax} lists and objects`)
  }

  unknownField(): void {
    if (++this.#unknownFields > unknownFieldsMax) throw notFrame(`more than ${unknownFieldsMax} unknown fields`)
  }
}
