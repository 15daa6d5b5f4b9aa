import type { Link, LinkedDevice } from '#link/link'
import type { Firmware } from '#model/entry'
import type { FirmwareStatusMessage } from '#model/link-message'

/** Hears what links know of devices as far as it concerns their firmware. */
export interface FirmwareEar {
  /** A device may be spoken to from now on. `said`: the firmwares that its HELLO named; none when it named none. */
  welcomed(linked: LinkedDevice, said: readonly Firmware[]): void
  /** Of the link that speaks for the device now. */
  said(linked: LinkedDevice, message: FirmwareStatusMessage): void
  /** It said BYE, or its link may not speak for it any more. */
  left(linked: LinkedDevice): void
  /** A link is no more, and with it all devices that it spoke for. */
  closed(link: Link): void
}

/** Nobody who updates devices. */
export const unheardFirmware: FirmwareEar = { welcomed() {}, said() {}, left() {}, closed() {} }
