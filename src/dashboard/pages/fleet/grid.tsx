import { useEffect, useRef, useState } from 'preact/hooks'
import type { DeviceView } from '#client/client'
import { AlarmMark, useActiveAlarms } from '#dashboard/alarm-counts'
import { nameOfDevice, useReadVersion } from '#dashboard/binding/known-names'
import { Link, navigateTo, pathOf } from '#dashboard/components/link'
import { Status } from '#dashboard/components/status'
import { clock, Time } from '#dashboard/components/time'
import { useKey, useObservable } from '#dashboard/components/use-observable'
import { gridCell, headCell, headRow, VirtualList } from '#dashboard/components/virtual-list'
import { seriesKey } from '#dashboard/history/chart-series'
import { Sparkline } from '#dashboard/history/sparkline'
import type { SparklinePoints } from '#dashboard/history/sparkline-points'
import { useSparklines } from '#dashboard/history/use-sparklines'
import { type FleetColumn, trendOf, valuesText } from '#dashboard/pages/fleet/columns'
import { holdRows, sortedMax } from '#dashboard/pages/fleet/use-fleet'
import type { Selection } from '#dashboard/pages/fleet/use-selection'
import { liveState } from '#dashboard/session'
import { runAfter } from '#dashboard/timers'
import type { StatusRow } from '#dashboard/values/alarm-order'
import { duration, numberOf } from '#dashboard/values/format-value'
import { lastMessageAt } from '#dashboard/values/last-message'

const narrow = '(max-width: 52rem)'

/** The height of a row with two lines, as a multiple of the height of a row with one line. */
const stackedLines = 1.4

/** Nothing is requested for rows that are visible for less than this time. */
const restMs = 150

const unsortedText = `Sorting needs ${sortedMax.toLocaleString()} devices or fewer: narrow the search.`

export interface FleetGridProps {
  readonly identifiers: readonly string[]
  readonly columns: readonly FleetColumn[]
  readonly sort: string
  readonly isDescending: boolean
  /** False: the list is sorted by identifier only. */
  readonly canSort: boolean
  readonly onSort: (key: string) => void
  /** Absent: the user may not change many devices at once. */
  readonly selection?: Selection | undefined
}

/**
 * One row for each device. Each visible row subscribes only to its own device, so changes of other devices do not
 * render it.
 */
export function FleetGrid(props: FleetGridProps) {
  const { identifiers, columns, sort, isDescending, canSort, onSort } = props
  const line = useRowHeight()
  // On phones: name and status, and below them the values and the last hour.
  const isStacked = columns.map(({ key }) => key).join() === 'device,status,trend,values' && matchMedia(narrow).matches
  const rowHeight = isStacked ? Math.round(line * stackedLines) : line
  const [shown, setShown] = useState<readonly string[]>([])
  const cancelShown = useRef<() => void>()
  const show = (rows: readonly string[]) => {
    cancelShown.current?.()
    cancelShown.current = runAfter(restMs, () => setShown(rows))
  }
  useEffect(() => () => cancelShown.current?.(), [])
  const { devices, schemas } = liveState()
  useReadVersion()
  const trends = columns.some(({ key }) => key === 'trend')
    ? shown.flatMap((identifier) => {
        const device = devices.get(identifier)
        return (device && trendOf(device, schemas, columns)) ?? []
      })
    : []
  const pointsOf = useSparklines(trends)
  const alarms = useActiveAlarms()
  const selection = isStacked ? undefined : props.selection
  const isSelectable = selection !== undefined
  // One layout for the header and all rows; on a narrow screen it scrolls sideways.
  const widths = [...(isSelectable ? ['2rem'] : []), ...columns.map(({ width }) => `minmax(${width}rem, ${width}fr)`)]
  const style = {
    '--fleet-columns': widths.join(' '),
    '--fleet-width': `${columns.reduce((sum, { width }) => sum + width, 1)}rem`,
  }
  const head = (
    <div {...headRow} class="fleet-cells">
      {selection && (
        <div {...headCell}>
          <Check label="Select all" isChecked={selection.isAllSelected} onPress={selection.onAll} />
        </div>
      )}
      {columns.map((column) => {
        const isSorted = column.key === sort
        return (
          <div
            key={column.key}
            {...headCell}
            {...(isSorted && { 'aria-sort': isDescending ? ('descending' as const) : ('ascending' as const) })}
            class={column.isNumber ? 'end' : ''}
          >
            {column.isUnsorted || (!canSort && column.key !== 'device') ? (
              <span class="sort-title" title={canSort ? undefined : unsortedText}>
                {column.title} {column.unit && <span class="unit">{column.unit}</span>}
              </span>
            ) : (
              <button type="button" class="sort" title={column.title} onClick={() => onSort(column.key)}>
                <span class="sort-title">{column.title}</span>
                {column.unit && <span class="unit">{column.unit}</span>}
                <span aria-hidden="true">{isSorted ? (isDescending ? '▼' : '▲') : ''}</span>
              </button>
            )}
          </div>
        )
      })}
    </div>
  )
  return (
    <div
      class={isStacked ? 'fleet stacked' : 'fleet'}
      style={isStacked ? {} : style}
      onPointerMove={holdRows}
      onPointerDown={holdRows}
    >
      <VirtualList
        label="Devices"
        rows={identifiers}
        rowHeight={rowHeight}
        rowKey={(identifier) => identifier}
        head={head}
        columns={columns.length + Number(isSelectable)}
        selected={selection?.selected}
        onSelect={selection?.onSelect}
        onRow={(identifier) => navigateTo(pathOf('devices', identifier))}
        onShown={show}
        render={(identifier) => (
          <Cells {...{ identifier, columns, pointsOf, selection }} alarms={alarms.get(identifier)} />
        )}
      />
    </div>
  )
}

interface CellsProps extends Pick<FleetGridProps, 'selection'> {
  readonly identifier: string
  readonly columns: readonly FleetColumn[]
  readonly pointsOf: (key: string) => SparklinePoints | undefined
  readonly alarms: readonly StatusRow[] | undefined
}

function Cells({ identifier, columns, pointsOf, alarms, selection }: CellsProps) {
  const { devices, schemas } = liveState()
  const device = useKey(devices, identifier)
  const name = nameOfDevice(identifier)
  return (
    <div class="fleet-cells" role="presentation">
      {selection && (
        <div {...gridCell}>
          <Check
            label={`Select ${identifier}`}
            isChecked={selection.selected.has(identifier)}
            onPress={(isRange) => selection.onSelect(identifier, isRange)}
          />
        </div>
      )}
      {columns.map(({ key, isNumber, text }) => (
        <div key={key} {...gridCell} class={isNumber ? 'end' : ''}>
          {key === 'device' && (
            <>
              <Link to={pathOf('devices', identifier)} isSkipped>
                {identifier}
              </Link>{' '}
              <AlarmMark rows={alarms} /> <span class="soft fleet-name">{name}</span>
            </>
          )}
          {device && key === 'status' && <DeviceStatus device={device} />}
          {device && key === 'seen' && <Time at={lastMessageAt(device)} />}
          {device && key === 'trend' && <Trend {...{ device, columns, pointsOf }} />}
          {device && key === 'values' && (
            <>
              {name && <span class="fleet-name">{name} · </span>}
              {valuesText(device, schemas, columns)}
            </>
          )}
          {device && text?.(device)}
        </div>
      ))}
    </div>
  )
}

interface CheckProps {
  readonly label: string
  readonly isChecked: boolean
  /** Undefined: the box cannot be changed now. */
  readonly onPress: ((isRange: boolean) => void) | undefined
}

/** The label is the whole cell, so that a press beside the box does not open the device. */
function Check({ label, isChecked, onPress }: CheckProps) {
  return (
    <label class="fleet-check">
      <input
        type="checkbox"
        aria-label={label}
        tabIndex={-1}
        checked={isChecked}
        disabled={!onPress}
        onClick={({ shiftKey }) => onPress?.(shiftKey)}
      />
    </label>
  )
}

function Trend({
  device,
  columns,
  pointsOf,
}: Pick<CellsProps, 'columns' | 'pointsOf'> & { readonly device: DeviceView }) {
  const series = trendOf(device, liveState().schemas, columns)
  if (!series) return null
  const current = numberOf(device.services.get(series.serviceIdentifier)?.valueAt(series.propId))
  return (
    <span title={`${series.name}, last hour`}>
      <Sparkline points={pointsOf(seriesKey(series))} current={current} />
    </span>
  )
}

/** Shorter silence is normal, and is not shown. */
const quietMs = 60_000

/** `online`; after a minute of silence `online, 4 min` since the last message. */
function DeviceStatus({ device }: { readonly device: DeviceView }) {
  const { status } = device
  const now = useObservable(clock)
  if (status === undefined) return <span>–</span>
  const at = lastMessageAt(device)
  const silentMs = now - at
  return <Status state={status}>{at > 0 && silentMs > quietMs ? `${status}, ${duration(silentMs)}` : undefined}</Status>
}

const touchTargetPx = 48
const rowRem = 2.6

/** Row height in pixels: follows the text size, and is large enough for touch. */
function useRowHeight(): number {
  const [height, setHeight] = useState(measureRow)
  useEffect(() => {
    const update = () => setHeight(measureRow)
    addEventListener('resize', update)
    return () => removeEventListener('resize', update)
  }, [])
  return height
}

function measureRow(): number {
  const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize)
  return Math.max(Math.round(rem * rowRem), matchMedia('(pointer: coarse)').matches ? touchTargetPx : 0)
}
