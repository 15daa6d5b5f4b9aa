/** The updates of one device as its events describe them, in their order. Contract 4, UPDATE_STATUS. */

/** A device never goes back to an earlier one. */
const statuses = ['CHECKING', 'OFFERING', 'STARTED', 'DOWNLOADING', 'VERIFYING', 'INSTALLING', 'REBOOTING', 'DONE']
const beginnings = statuses.slice(0, 2)
/** Of a device that was taken for offline, and goes on. */
const late = statuses.slice(2)
const goodEnds = ['DONE', 'REFUSED']
/** Published again when the device repeats them a while later. */
const repeatedStatuses = ['DOWNLOADING', 'INSTALLING']

export interface UpdateStatus {
  /** Unix ms. */
  readonly at: number
  readonly status: string
  readonly firmware?: string | undefined
  readonly progress?: number | undefined
  readonly message?: string | undefined
}

/** An update begins, never goes back, and ends once, with the firmware that it began with. */
export class UpdateCourse {
  #offset = 0
  #last: UpdateStatus | undefined

  get last(): UpdateStatus | undefined {
    return this.#last
  }

  /** The fault of an event. The same event, received by a second subscriber, is ignored. */
  receive(offset: number, next: UpdateStatus): string | undefined {
    if (offset <= this.#offset) return undefined
    this.#offset = offset
    const before = this.#last
    this.#last = next
    if (isOver(next) && !goodEnds.includes(next.status) && !isOffline(next)) return `ended: ${shown(next)}`
    return isNext(before, next) ? undefined : `was ${before ? shown(before) : 'never updated'}, and is ${shown(next)}`
  }
}

export function isOver({ status }: Pick<UpdateStatus, 'status'>): boolean {
  return status === 'DONE' || !statuses.includes(status)
}

/** An update that the device does not refuse fails only with its connection. */
export function isOffline({ status, message = '' }: Pick<UpdateStatus, 'status' | 'message'>): boolean {
  return status === 'FAILED' && message.startsWith('DEVICE_OFFLINE')
}

function isNext(before: UpdateStatus | undefined, next: UpdateStatus): boolean {
  if (!before || isOver(before)) {
    const isContinued = before?.status === 'FAILED' && late.includes(next.status) && next.firmware === before.firmware
    return beginnings.includes(next.status) || isContinued
  }
  if (before.firmware !== undefined && next.firmware !== before.firmware) return false
  if (isOffline(next) || next.status === 'REFUSED') return beginnings.includes(before.status)
  const [from, to] = [before, next].map(({ status }) => statuses.indexOf(status)) as [number, number]
  const isFurther = (next.progress ?? 0) >= (before.progress ?? 0)
  return to > from || (to === from && repeatedStatuses.includes(next.status) && isFurther)
}

function shown({ status, firmware, progress, message, at }: UpdateStatus): string {
  const words = [status, firmware, progress === undefined ? undefined : `${progress} %`, message]
  return `${words.filter((word) => word !== undefined).join(' ')} at ${at}`
}
