/** What is told of the updates of one device, in its order. Contract 4, UPDATE_STATUS. */

/** How far an update is; the device can't go back to what lies before. */
const course = ['CHECKING', 'OFFERING', 'STARTED', 'DOWNLOADING', 'VERIFYING', 'INSTALLING', 'REBOOTING', 'DONE']
const beginnings = course.slice(0, 2)
/** A device that was taken for offline, and goes on. */
const late = course.slice(2)
const goodEnds = ['DONE', 'REFUSED']
/** Told again when the device says so again, a while later. */
const repeated = ['DOWNLOADING', 'INSTALLING']

export interface UpdateTold {
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
  #last: UpdateTold | undefined

  get last(): UpdateTold | undefined {
    return this.#last
  }

  /** What is wrong with it, in words. What is heard a second time, by somebody else, says nothing. */
  hear(offset: number, told: UpdateTold): string | undefined {
    if (offset <= this.#offset) return undefined
    this.#offset = offset
    const before = this.#last
    this.#last = told
    if (isOver(told) && !goodEnds.includes(told.status) && !isOffline(told)) return `ended: ${said(told)}`
    return isNext(before, told) ? undefined : `was ${before ? said(before) : 'never updated'}, and is ${said(told)}`
  }
}

export function isOver({ status }: Pick<UpdateTold, 'status'>): boolean {
  return status === 'DONE' || !course.includes(status)
}

/** Nothing but a lost line ends one that the device does not refuse. */
export function isOffline({ status, message = '' }: Pick<UpdateTold, 'status' | 'message'>): boolean {
  return status === 'FAILED' && message.startsWith('DEVICE_OFFLINE')
}

function isNext(before: UpdateTold | undefined, told: UpdateTold): boolean {
  if (!before || isOver(before)) {
    const isGoingOn = before?.status === 'FAILED' && late.includes(told.status) && told.firmware === before.firmware
    return beginnings.includes(told.status) || isGoingOn
  }
  if (before.firmware !== undefined && told.firmware !== before.firmware) return false
  if (isOffline(told) || told.status === 'REFUSED') return beginnings.includes(before.status)
  const [from, to] = [before, told].map(({ status }) => course.indexOf(status)) as [number, number]
  const isFurther = (told.progress ?? 0) >= (before.progress ?? 0)
  return to > from || (to === from && repeated.includes(told.status) && isFurther)
}

function said({ status, firmware, progress, message, at }: UpdateTold): string {
  const words = [status, firmware, progress === undefined ? undefined : `${progress} %`, message]
  return `${words.filter((word) => word !== undefined).join(' ')} at ${at}`
}
