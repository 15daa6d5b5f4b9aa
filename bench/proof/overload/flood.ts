import { answerWith } from '#bench/harness/answering'
import { CountedFleet, type CountedFleetOptions, type FleetBooks } from '#bench/proof/overload/counted-fleet'
import { count, type Ends } from '#bench/proof/overload/ends'
import { EventEar } from '#bench/proof/overload/event-ear'

/** Devices that report many times as fast as is rated, and a dashboard that is to hear all of it. */
let fleet: CountedFleet
let ear: EventEar
let heard = 0
const openMsMax = 30_000
const settleMsMax = 60_000

answerWith({
  async open(options: CountedFleetOptions): Promise<void> {
    fleet = new CountedFleet(options)
    await fleet.open(openMsMax)
    ear = new EventEar({
      ...options,
      query: { offset: 'now' },
      heard: () => {
        heard++
      },
    })
    await ear.open()
  },

  async run({ seconds }: { readonly seconds: number }): Promise<Ends> {
    fleet.begin()
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
    const { sent, heldBack } = fleet.giveUp()
    const ends: Ends = {}
    count(ends, 'sent', sent)
    count(ends, 'held back', heldBack)
    return ends
  },

  settle: () => fleet.settled(settleMsMax),

  books(): FleetBooks {
    if (heard === 0) throw new Error('its dashboard heard nothing')
    return fleet.books()
  },

  close(): void {
    ear.stop()
    fleet.close()
  },
})
