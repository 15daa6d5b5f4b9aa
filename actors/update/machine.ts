import { assign, setup } from 'xstate'
import type { FailureReason, UpdateContext, UpdateEvent } from '#actors/update/state'
import type { TriggerStatus, UpdateState } from '#model/firmware'
import { hasFallenBack, hasReachedVersion } from '#model/release'

/**
 * Version of everything that decides how a stored update continues. Each change of this must raise the version and add
 * an upgrade to the record in `update.ts`. Version 1 has no upgrade, so updates of version 1 cannot be read.
 */
export const machineVersion = 2

const minuteMs = 60_000
export const checkingMsMax = 30_000
export const startedMsMax = 10 * minuteMs
/** Time limits of a download: between two reports, and from the first report to the end. */
export const downloadSilenceMsMax = 10 * minuteMs
export const downloadMsMax = 24 * 60 * minuteMs
export const verifyingMsMax = 10 * minuteMs
/** Time limits of an installation: between two reports, and from the first report to the end. */
export const installingSilenceMsMax = 30 * minuteMs
export const installingMsMax = 24 * 60 * minuteMs
export const rebootingMsMax = 10 * minuteMs

/**
 * How often an update that has started is offered again to a device that restarts. An offer without an answer is always
 * sent again, but restarts the time limit for the answer only this often. Limited, because the offer itself may crash
 * the device.
 */
export const resendsMax = 3

/**
 * After a device has kept its new firmware for this time, the update is final: it has not failed if the device reports
 * an older firmware later.
 */
export const stayMsMin = 24 * 60 * minuteMs

/** The minimum time between two events about progress. Contract 4, UPDATE_STATUS. */
const publishEveryMs = 1_000
/** Progress that grew by this amount is published at once. */
const publishEveryPercent = 5

/** The context before the first update. */
export const noUpdate: UpdateContext = {
  id: '',
  by: 'post',
  project: '',
  index: 0,
  from: '',
  offer: null,
  rest: [],
  session: '',
  progress: null,
  message: null,
  reason: null,
  outcome: null,
  deadline: null,
  downloadsUntil: 0,
  installsUntil: 0,
  beganAt: 0,
  toldAt: 0,
  toldProgress: 0,
  resends: 0,
}

interface MachineInput {
  readonly context: UpdateContext
  readonly event: UpdateEvent
}

/** The outcome of an update that ends before the device has begun, with a reason. */
interface EndBeforeStart {
  readonly status: TriggerStatus
  readonly reason: FailureReason
  /** Message of this server, instead of the message of the event. */
  readonly words?: string
}

/** The outcome of an update that fails after the device has begun. */
interface FailureAfterStart {
  readonly reason: FailureReason
  readonly words?: string
}

const isThere = ({ context: { offer, from }, event: { reported } }: MachineInput): boolean =>
  offer !== null && reported !== undefined && hasReachedVersion(reported, offer.firmware, from)
const isOther = (seen: MachineInput): boolean =>
  seen.event.reported !== undefined && seen.event.reported !== seen.context.from && !isThere(seen)
/** The device has restarted with the old version. */
const isOldVersionAgain = ({ context, event }: MachineInput): boolean =>
  event.reported === context.from && event.session !== context.session
const isWhole = ({ event }: MachineInput): boolean => (event.progress ?? 0) >= 100
/**
 * The update failed because the device was silent, but the time limits of the download and the installation are not
 * over. A report of the device then continues the update.
 */
const isLate = ({ context: { offer, reason, downloadsUntil, installsUntil }, event: { now } }: MachineInput): boolean =>
  offer !== null &&
  (reason === 'offline' || reason === 'timeout') &&
  now < (installsUntil || downloadsUntil || Number.POSITIVE_INFINITY)
/** The device has its previous version again, or a version older than the new one, soon after the update was done. */
const isFallenBack = ({ context, event: { now, reported, session } }: MachineInput): boolean =>
  context.offer !== null &&
  reported !== undefined &&
  session !== context.session &&
  hasFallenBack(reported, context.offer.firmware, context.from) &&
  now - context.toldAt < stayMsMin
const isTimeOver = ({ context: { deadline }, event: { now } }: MachineInput): boolean =>
  deadline !== null && deadline <= now

/** Whether progress is published now. Also true if the clock was set back since the last time. */
function shouldPublish({ context: { toldAt, toldProgress }, event: { now, progress } }: MachineInput): boolean {
  return now < toldAt || now - toldAt >= publishEveryMs || (progress ?? 0) - toldProgress >= publishEveryPercent
}

function endedBy({ event: { message } }: MachineInput, { status, reason, words = message }: EndBeforeStart) {
  return {
    reason,
    progress: null,
    message: words === undefined ? status : `${status}: ${words}`,
    outcome: { status, ...(words !== undefined && { message: words }) },
  }
}

/** Only a name: the turn executes the action (`transition.ts`). */
const runByTurn = () => {}

const definition = setup({
  types: {} as { context: UpdateContext; events: UpdateEvent },
  guards: {
    isThere,
    isOther,
    isOldVersionAgain,
    mayResend: (seen: MachineInput) => isOldVersionAgain(seen) && seen.context.resends < resendsMax,
    isWhole,
    shouldPublish,
    isLate,
    isFallenBack,
    isLateAndWhole: (seen: MachineInput) => isLate(seen) && isWhole(seen),
    isTimeOver,
  },
  actions: {
    publish_status: runByTurn,
    ask_server: runByTurn,
    send_offer: runByTurn,
    report_outcome: runByTurn,
    want_next: runByTurn,

    begin: assign(({ context, event: { begun } }) => begun ?? context),
    take_found: assign(({ event: { found } }) => {
      if (!found) return {}
      const { index, from, offer, rest } = found
      return { index, from, offer, rest }
    }),
    take_session: assign(({ context, event: { session } }) => ({ session: session ?? context.session })),
    take_words: assign(({ event: { progress, message } }) => ({
      progress: progress ?? null,
      message: message ?? null,
      reason: null,
    })),
    take_progress: assign(({ context, event: { progress, message } }) => ({
      progress: progress ?? context.progress,
      message: message ?? null,
    })),
    accept: assign({ outcome: { status: 'STARTED' as const }, resends: 0 }),
    find_nothing: assign({ message: 'NO_UPDATE', outcome: { status: 'NO_UPDATE' as const } }),
    be_there: assign({ progress: null, message: null, reason: null }),
    need_nothing: assign({ outcome: { status: 'NO_UPDATE' as const } }),
    end: assign((seen, ended: EndBeforeStart) => endedBy(seen, ended)),
    break_off: assign(({ event: { message } }, { reason, words = message }: FailureAfterStart) => ({
      reason,
      progress: null,
      message: words ?? null,
    })),
    count_resend: assign(({ context: { resends } }) => ({
      ...{ resends: resends + 1, progress: null, message: null },
      ...{ downloadsUntil: 0, installsUntil: 0 },
    })),

    note_published: assign(({ context: { progress }, event: { now } }) => ({
      toldAt: now,
      toldProgress: progress ?? 0,
    })),
    wait: assign(({ event: { now } }, { forMs }: { forMs: number }) => ({ deadline: now + forMs })),
    wait_for_answer: assign(({ event: { offerUntil } }) => ({ deadline: offerUntil })),
    wait_again: assign(({ context: { resends, deadline }, event: { offerUntil } }) => ({
      deadline: resends > resendsMax ? deadline : offerUntil,
    })),
    limit_download: assign(({ context: { downloadsUntil }, event: { now } }) => ({
      downloadsUntil: downloadsUntil || now + downloadMsMax,
    })),
    wait_for_download: assign(({ context: { downloadsUntil }, event: { now } }) => ({
      deadline: Math.min(now + downloadSilenceMsMax, downloadsUntil),
    })),
    limit_install: assign(({ context: { installsUntil }, event: { now } }) => ({
      installsUntil: installsUntil || now + installingMsMax,
    })),
    wait_for_install: assign(({ context: { installsUntil }, event: { now } }) => ({
      deadline: Math.min(now + installingSilenceMsMax, installsUntil),
    })),
    rest: assign({ deadline: null }),
  },
})

const published = ['note_published', 'publish_status'] as const
const wait = (forMs: number) => ({ type: 'wait', params: { forMs } }) as const
const end = (params: EndBeforeStart) => [{ type: 'end', params }, 'report_outcome'] as const
const endOffline = (words: string) => end({ status: 'DEVICE_OFFLINE', reason: 'offline', words })
const serverError = { status: 'UPDATE_SERVER_ERROR', reason: 'server' } as const
const otherFirmware = 'the device came back with another firmware'
const breakOff = (params: FailureAfterStart) => ({ type: 'break_off', params }) as const

const onBegin = { target: 'checking', actions: 'begin' } as const
const onFailed = { target: 'failed', actions: breakOff({ reason: 'device' }) } as const
const onDue = (words: string) =>
  ({ target: 'failed', guard: 'isTimeOver', actions: breakOff({ reason: 'timeout', words }) }) as const

const updated = { target: 'done', guard: 'isThere', actions: 'be_there' } as const
const other = {
  target: 'failed',
  guard: 'isOther',
  actions: breakOff({ reason: 'device', words: otherFirmware }),
} as const
const startedTooOften = {
  target: 'failed',
  guard: 'isOldVersionAgain',
  actions: breakOff({ reason: 'device', words: 'the device restarted too often' }),
} as const
const resend = ['take_session', 'count_resend', 'send_offer'] as const
const onBack = [updated, other, { target: 'started', guard: 'mayResend', actions: resend }, startedTooOften] as const

const install = { target: 'installing', actions: 'take_words' } as const
const installed = { target: 'rebooting', actions: 'take_words' } as const
const download = [
  { target: 'verifying', guard: 'isWhole', actions: 'take_words' },
  { target: 'downloading', actions: 'take_words' },
] as const
const accepted = ['take_words', 'accept', 'report_outcome'] as const

/**
 * An update, from the request to the update server until the device reconnects with the new version. The states are in
 * the order of an update. A late report of an earlier state is ignored, because the current state has no such event.
 */
export const updateMachine = definition.createMachine({
  id: 'update',
  context: noUpdate,
  initial: 'idle',
  states: {
    idle: { entry: ['rest', ...published], on: { BEGIN: onBegin } },
    checking: {
      entry: [wait(checkingMsMax), ...published, 'ask_server'],
      on: {
        FOUND: { target: 'offering', actions: 'take_found' },
        NONE: { target: 'idle', actions: ['find_nothing', 'report_outcome'] },
        SERVER_BUSY: {
          target: 'failed',
          actions: [...end({ status: 'UPDATE_SERVER_OUT_OF_RESOURCES', reason: 'server' })],
        },
        SERVER_FAILED: { target: 'failed', actions: [...end(serverError)] },
        OUR_FAULT: { target: 'failed', actions: [...end({ status: 'SERVER_ERROR', reason: 'server' })] },
        BACK: { actions: 'take_session' },
        DUE: {
          target: 'failed',
          guard: 'isTimeOver',
          actions: [...end({ ...serverError, words: 'the update server did not answer in time' })],
        },
      },
    },
    offering: {
      entry: ['wait_for_answer', ...published, 'send_offer'],
      on: {
        STARTED: { target: 'started', actions: [...accepted] },
        DOWNLOADING: [
          { target: 'verifying', guard: 'isWhole', actions: [...accepted] },
          { target: 'downloading', actions: [...accepted] },
        ],
        INSTALLING: { target: 'installing', actions: [...accepted] },
        INSTALLED: { target: 'rebooting', actions: [...accepted] },
        NOT_OK: { target: 'refused', actions: [...end({ status: 'DEVICE_NOT_OK', reason: 'device' })] },
        FAILED: { target: 'failed', actions: [...end({ status: 'DEVICE_NOT_OK', reason: 'device' })] },
        OUR_FAULT: { target: 'failed', actions: [...end({ status: 'SERVER_ERROR', reason: 'server' })] },
        LOST: {
          target: 'failed',
          actions: [...endOffline('the connection of the device was lost')],
        },
        DUE: {
          target: 'failed',
          guard: 'isTimeOver',
          actions: [...endOffline('the device did not answer in time')],
        },
        BACK: [
          { target: 'done', guard: 'isThere', actions: ['be_there', 'need_nothing', 'report_outcome'] },
          {
            target: 'failed',
            guard: 'isOther',
            actions: [...end({ status: 'DEVICE_NOT_OK', reason: 'device', words: otherFirmware })],
          },
          { actions: [...resend, 'wait_again'] },
        ],
      },
    },
    started: {
      entry: [wait(startedMsMax), ...published],
      on: {
        DOWNLOADING: [...download],
        INSTALLING: install,
        INSTALLED: installed,
        NOT_OK: onFailed,
        FAILED: onFailed,
        BACK: [updated, other, { guard: 'mayResend', actions: [...resend, wait(startedMsMax)] }, startedTooOften],
        DUE: onDue('the device did not begin to download in time'),
      },
    },
    downloading: {
      entry: ['limit_download', 'wait_for_download', ...published],
      on: {
        DOWNLOADING: [
          { target: 'verifying', guard: 'isWhole', actions: 'take_words' },
          { guard: 'shouldPublish', actions: ['take_progress', 'wait_for_download', ...published] },
        ],
        INSTALLING: install,
        INSTALLED: installed,
        NOT_OK: onFailed,
        FAILED: onFailed,
        BACK: [...onBack],
        DUE: onDue('the device did not download the firmware in time'),
      },
    },
    verifying: {
      entry: [wait(verifyingMsMax), ...published],
      on: {
        INSTALLING: install,
        INSTALLED: installed,
        FAILED: onFailed,
        BACK: [...onBack],
        DUE: onDue('the device did not verify the firmware in time'),
      },
    },
    installing: {
      entry: ['limit_install', 'wait_for_install', ...published],
      on: {
        INSTALLING: { guard: 'shouldPublish', actions: ['take_progress', 'wait_for_install', ...published] },
        INSTALLED: installed,
        FAILED: onFailed,
        BACK: [...onBack],
        DUE: onDue('the device did not install the firmware in time'),
      },
    },
    rebooting: {
      entry: [wait(rebootingMsMax), ...published],
      on: {
        FAILED: onFailed,
        BACK: [
          updated,
          other,
          {
            target: 'failed',
            guard: 'isOldVersionAgain',
            actions: breakOff({ reason: 'device', words: 'the device came back with the old firmware' }),
          },
        ],
        DUE: onDue('the device did not come back'),
      },
    },
    done: {
      entry: ['rest', ...published, 'want_next'],
      on: {
        BEGIN: onBegin,
        BACK: {
          target: 'failed',
          guard: 'isFallenBack',
          actions: breakOff({ reason: 'device', words: 'the device fell back to an older firmware' }),
        },
      },
    },
    failed: {
      entry: ['rest', ...published],
      on: {
        BEGIN: onBegin,
        STARTED: { target: 'started', guard: 'isLate', actions: 'take_words' },
        DOWNLOADING: [
          { target: 'verifying', guard: 'isLateAndWhole', actions: 'take_words' },
          { target: 'downloading', guard: 'isLate', actions: 'take_words' },
        ],
        INSTALLING: { ...install, guard: 'isLate' },
        INSTALLED: { ...installed, guard: 'isLate' },
        BACK: updated,
      },
    },
    refused: { entry: ['rest', ...published], on: { BEGIN: onBegin } },
  },
})

const ends: ReadonlySet<UpdateState> = new Set<UpdateState>(['idle', 'done', 'failed', 'refused'])

/** Whether an update has begun and not ended. */
export function isRunning(state: UpdateState): boolean {
  return !ends.has(state)
}
