/** How far a server may be ahead of the slowest dashboard. */
export interface LeadLimits {
  readonly eventsMax: number
  /**
   * The load sleeps after each read, so that it reads fewer and larger pieces from its sockets. That halves the cost of
   * the load, as long as the server never waits for it.
   */
  readonly napMs: number
}

/**
 * Limits with which the server never waits and each socket holds a few kilobytes, so that no dashboard falls behind.
 * The sleep times do not slow the server (found by experiment).
 */
export function leadLimits(dashboards: number): LeadLimits {
  if (dashboards < 100) return { eventsMax: 512, napMs: 0 }
  if (dashboards < 1_000) return { eventsMax: 512, napMs: 2 }
  if (dashboards < 5_000) return { eventsMax: 128, napMs: 2 }
  return { eventsMax: 64, napMs: 0 }
}

interface LeadOptions extends LeadLimits {
  readonly grant: (events: number) => void
  readonly receivedByAll: () => number
}

/**
 * uWebSockets.js writes up to this number of messages to a socket in one piece. In smaller pieces each message costs
 * more.
 */
const pieceEvents = 32

const never = new Int32Array(new SharedArrayBuffer(4))

/**
 * Keeps a server at most a fixed number of events ahead of its slowest dashboard. So the load has the rate of that
 * dashboard, and no dashboard falls so far behind that the server drops events for it.
 */
export function leadOf({ eventsMax, napMs, grant, receivedByAll }: LeadOptions) {
  let granted = 0
  let isOn = false
  let isCheckDue = false

  /** Checks the slowest dashboard once per iteration of the event loop, after all dashboards have read. */
  function moved(): void {
    if (isCheckDue || !isOn) return
    isCheckDue = true
    setImmediate(() => {
      isCheckDue = false
      if (!isOn) return
      const room = eventsMax - (granted - receivedByAll())
      const events = room - (room % pieceEvents)
      if (events > 0) {
        granted += events
        grant(events)
      }
      if (napMs > 0) Atomics.wait(never, 0, 0, napMs)
    })
  }

  return {
    begin() {
      granted = 0
      isOn = true
      moved()
    },
    stop() {
      isOn = false
    },
    /** Must be called when dashboards have received events. */
    moved,
  }
}
