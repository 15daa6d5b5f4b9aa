import type { Answer, FirmwareView } from '#client/client'
import { type Called, useCall } from '#dashboard/parts/use-call'
import { useRepeated } from '#dashboard/parts/use-repeated'
import { client } from '#dashboard/session'

/** A release may be brought at any time, by whomever. */
const askEveryMs = 5_000

/**
 * The firmware of a device as the server says it now. Whether there is something newer is in no event: it is asked for
 * again and again, and whenever the device has another firmware.
 */
export function useFreshFirmware(
  deviceIdentifier: string,
  live: FirmwareView | undefined,
): Called<Answer<'GET /updates/:deviceIdentifier'>> {
  const firmwares = (live?.firmwares ?? []).map(({ firmware }) => firmware).join()
  const fresh = useCall(
    () => client.call('GET /updates/:deviceIdentifier', { parameters: { deviceIdentifier } }),
    [deviceIdentifier, firmwares],
  )
  useRepeated(live && fresh.again, askEveryMs)
  return fresh
}
