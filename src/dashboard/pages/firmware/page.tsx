import { Page } from '#dashboard/parts/page'

export default function FirmwarePage() {
  return <Page title="Firmware">{null}</Page>
}
