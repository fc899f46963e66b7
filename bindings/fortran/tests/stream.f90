! Parts, copies, structures, meshes, every version, lengths and changes.
program stream
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  use tcasm
  use test_region
  implicit none
  type, bind(c) :: pair
    real(c_double) :: a
    integer(c_int) :: b
  end type pair
  real(real64), pointer :: u(:, :, :), part(:, :, :)
  real(real32), pointer :: v(:, :), some(:, :), wrong(:, :)
  type(pair), pointer :: pairs(:)
  type(c_ptr) :: data
  type(tcasm_mesh) :: mesh
  integer(int64), allocatable :: firsts(:), lasts(:)
  integer :: i, j, k, count, status, step

  call tcasm_create(run, "parts", 16777216_int64, tcasm_options(versions=4, history=0))
  call tcasm_add_field(run, "u", u, [5, 4, 3])
  call tcasm_add_field(run, "v", v, [3, 6], &
    options=tcasm_field_options(vector=.true., order=TCASM_ORDER_C))
  call tcasm_add_structures(run, "pairs", 2, c_sizeof(pair(0, 0)), 8, "pair", data)
  call c_f_pointer(data, pairs, [2])
  pairs(2) = pair(0.5_c_double, 42)
  do k = 1, 3
    do j = 1, 4
      do i = 1, 5
        u(i, j, k) = 100 * i + 10 * j + k
      end do
    end do
  end do
  do i = 1, 6
    v(:, i) = [1, 2, 3] + 10 * real(i)
  end do
  call tcasm_add_mesh(run, "axis", TCASM_RECTILINEAR, ["u"], status=status)
  call check(status == TCASM_NOT_DEFINED, "a mesh of a field of three dimensions")
  call tcasm_add_block(run, "fine", [5, 4, 1], [1.0_real64, 2.0_real64, 3.0_real64], &
    [0.5_real64, 0.5_real64, 1.0_real64], "amr", 1, [2, 2, 1], [8_int64, -4_int64, 0_int64])
  call tcasm_attach(observer, "parts")
  call tcasm_publish(run, 1, 0.0_real64)
  call tcasm_wait_visible(run, 10.0_real64)
  call tcasm_latest(observer, version)

  call tcasm_get_part(version, "u", part, first=[2, 1, 3], count=[3, 2, 1])
  call check(all(shape(part) == [3, 2, 1]), "the shape of a part")
  do j = 1, 2
    do i = 1, 3
      call check(nint(part(i, j, 1)) == 100 * (i + 1) + 10 * j + 3, "the values of a part")
    end do
  end do
  call tcasm_get_part(version, "v", some, first=[5], count=[2])
  call check(all(shape(some) == [3, 2]) .and. nint(some(2, 1)) == 52, "a part of a vector")
  call tcasm_get_part(version, "v", some, first=[5], count=[0], status=status)
  call check(status == TCASM_INVALID_ARGUMENT, "a part without elements")
  call tcasm_get_part(version, "v", some, first=[5], count=[3], status=status)
  call check(status == TCASM_INVALID_ARGUMENT .and. .not. associated(some), "a part outside")
  call tcasm_get_part(version, "v", some, first=[0], count=[1], status=status)
  call check(status == TCASM_INVALID_ARGUMENT, "a part before the first index")
  call tcasm_get_part(version, "u", wrong, first=[1], count=[1], status=status)
  call check(status == TCASM_INVALID_ARGUMENT, "a part of another type")

  call copies()
  call tcasm_get_structures(version, "pairs", c_sizeof(pair(0, 0)), data, count)
  call c_f_pointer(data, pairs, [count])
  call check(count == 2 .and. pairs(2)%b == 42, "structures")
  call tcasm_get_structures(version, "pairs", 8_c_size_t, data, count, status)
  call check(status == TCASM_INVALID_ARGUMENT, "structures of another size")
  call tcasm_get_structures(version, "u", c_sizeof(pair(0, 0)), data, count, status)
  call check(status == TCASM_INVALID_ARGUMENT, "an array instead of structures")

  call check(tcasm_mesh_count(version) == 1, "the number of meshes")
  call tcasm_mesh_at(version, 1, mesh)
  call check(mesh%name == "fine" .and. mesh%of == "amr" .and. mesh%offset(2) == -4, "a mesh")
  call tcasm_mesh_at(version, 2, mesh, status)
  call check(status == TCASM_NOT_FOUND, "a mesh that is not there")
  call tcasm_release(version)

  call tcasm_every_version(observer)
  do step = 2, 4
    call tcasm_publish(run, step, 0.0_real64)
    call tcasm_wait_visible(run, 10.0_real64)
  end do
  do step = 2, 4
    call tcasm_next(observer, version)
    call check(tcasm_step(version) == step, "every version")
  end do
  call tcasm_missed(observer, firsts, lasts)
  call check(size(firsts) == 0 .and. size(lasts) == 0, "missed versions")
  call tcasm_every_version(observer, .false.)
  call tcasm_release(version)
  call tcasm_detach(observer)
  call tcasm_close(run)
  call large_numbers()
  call several_lengths()
  call changes()

contains

  ! The values of fields in arrays of the program.
  subroutine copies()
    real(real64) :: values(5, 4, 3), turned(3, 4, 5), wide(10, 4, 3)
    real(real32) :: vectors(3, 6), other(5, 4, 3)
    call tcasm_read_field(version, "u", values)
    call check(nint(values(2, 3, 1)) == 231 .and. all(nint(values) == nint(u)), "a copy of a field")
    wide = 0
    call tcasm_read_field(version, "u", wide(1:9:2, :, :))
    call check(nint(wide(3, 3, 1)) == 231 .and. nint(wide(4, 3, 1)) == 0, "a copy with gaps")
    call tcasm_read_field(version, "v", vectors)
    call check(all(nint(vectors(:, 5)) == [51, 52, 53]), "a copy of a vector")
    call tcasm_read_field(version, "u", turned, status)
    call check(status == TCASM_INVALID_ARGUMENT, "a copy to other extents")
    call tcasm_read_field(version, "u", other, status)
    call check(status == TCASM_INVALID_ARGUMENT, "a copy to another type")
    call tcasm_read_field(version, "absent", values, status)
    call check(status == TCASM_NOT_FOUND, "a copy of a field that is not there")
  end subroutine copies

  ! Steps and lengths are integers of 32 or 64 bits.
  subroutine large_numbers()
    integer(int64), parameter :: large = 5000000000_int64
    real(real64), pointer :: x(:)
    real(real64) :: time
    integer(int64) :: restored
    call tcasm_create(run, "large", 1048576_int64, tcasm_options(versions=4, history=2))
    call tcasm_add_field(run, "x", x, [8], options=tcasm_field_options(variable=.true.))
    call tcasm_attach(observer, "large")
    x = 0.5_real64
    call tcasm_set_len(run, "x", 5_int64)
    call check(tcasm_len(run, "x") == 5, "a length of 64 bits")
    call tcasm_publish(run, large, 1.0_real64)
    call tcasm_wait_visible(run, 10.0_real64)
    call tcasm_latest(observer, version)
    call check(tcasm_step(version) == large, "a step beyond 2^32")
    call tcasm_get(version, "x", x)
    call check(size(x) == 5, "the field of a length of 64 bits")
    call tcasm_set_len(run, "x", 6)
    call check(tcasm_len(run, "x") == 6, "a length of 32 bits")
    call tcasm_set_len(run, "x", 4294967298_int64, status)
    call check(status < 0, "a length beyond the capacity")
    call check(tcasm_len(run, "x") == 6, "the length after one that was refused")
    call tcasm_publish(run, large + 1, 2.0_real64, timeout=10.0_real64)
    call tcasm_wait_visible(run, 10.0_real64)
    call tcasm_next(observer, version)
    call check(tcasm_step(version) == large + 1, "a step beyond 2^32, with a timeout")
    call tcasm_rollback(run, 1_int64, restored, time)
    call check(restored == large .and. nint(time) == 1, "the step of a rollback")
    call tcasm_release(version)
    call tcasm_detach(observer)
    call tcasm_close(run)
  end subroutine large_numbers

  ! Several lengths are set together, or none of them.
  subroutine several_lengths()
    real(real64), pointer :: a(:), b(:, :)
    call tcasm_create(run, "lengths", 1048576_int64)
    call tcasm_add_field(run, "a", a, [8], options=tcasm_field_options(variable=.true.))
    call tcasm_add_field(run, "b", b, [2, 6], options=tcasm_field_options(variable=.true.))
    call tcasm_set_lens(run, ["a", "b"], [5, 2])
    call check(tcasm_len(run, "a") == 5, "the first of two lengths")
    call check(tcasm_len(run, "b") == 2, "the second of two lengths")
    call tcasm_set_lens(run, ["a", "b"], [4_int64, 9_int64], status)
    call check(status < 0, "lengths of which one is beyond the capacity")
    call tcasm_set_lens(run, ["a", "b"], [4], status)
    call check(status == TCASM_INVALID_ARGUMENT, "fewer lengths than names")
    call check(tcasm_len(run, "a") == 5, "the first length after an error")
    call check(tcasm_len(run, "b") == 2, "the second length after an error")
    b(:, 2) = 2
    call publish_visible(1)
    call tcasm_attach(observer, "lengths")
    call tcasm_latest(observer, version)
    call tcasm_get(version, "a", a)
    call tcasm_get(version, "b", b)
    call check(size(a) == 5 .and. all(shape(b) == [2, 2]) .and. nint(b(1, 2)) == 2, &
      "fields of two lengths")
    call leave()
  end subroutine several_lengths

  ! What differs between versions, in pages, and in bytes of a field. Pages are compared here, so
  ! that only those that differ count.
  subroutine changes()
    type(tcasm_version) :: first, none
    type(tcasm_info) :: info
    real(real64), pointer :: x(:)
    integer(int32), pointer :: y(:)
    integer(int64), allocatable :: offsets(:), lengths(:)
    integer(int64) :: pages
    integer :: n
    call tcasm_create(run, "changes", 16777216_int64, tcasm_options(history=3, &
      tracker=TCASM_TRACKER_COMPARE, capture=TCASM_CAPTURE_INLINE))
    call tcasm_attach(observer, "changes")
    call tcasm_region_info(observer, info)
    n = int(info%page_size) / 8
    call tcasm_add_field(run, "x", x, [8 * n])
    x = 1
    call publish_visible(1)
    call tcasm_latest(observer, first)
    call tcasm_add_field(run, "y", y, [3])
    y = 5
    x(2 * n + 1) = 7
    x(5 * n + 1:6 * n + 1) = 7
    call publish_visible(2)
    call tcasm_latest(observer, version)
    call check(tcasm_changed_pages(version, first) == 4, "the pages of two versions that differ")
    call check(tcasm_changed_pages(version) == 4, "the pages of the last two versions that differ")
    call tcasm_changed_ranges(version, "x", offsets, lengths, first)
    call check(size(offsets) == 2 .and. size(lengths) == 2, "the number of changed ranges")
    call check(all(offsets == [2, 5] * info%page_size), "where changed ranges begin")
    call check(all(lengths == [1, 2] * info%page_size), "the bytes of changed ranges")
    call tcasm_changed_ranges(version, "y", offsets, lengths, first)
    call check(size(offsets) == 1 .and. all(offsets == 0) .and. all(lengths == 12), "a new field")

    x(1) = 8
    call publish_visible(3)
    call tcasm_latest(observer, version)
    call check(tcasm_changed_pages(version) == 1, "the pages against the version before")
    call tcasm_changed_ranges(version, "x", offsets, lengths)
    call check(size(offsets) == 1 .and. all(offsets == 0) .and. all(lengths == info%page_size), &
      "the ranges against the version before")
    call tcasm_changed_ranges(version, "y", offsets, lengths)
    call check(size(offsets) == 0 .and. size(lengths) == 0, "a field that has not changed")
    call tcasm_changed_ranges(version, "x", offsets, lengths, first)
    call check(size(offsets) == 3, "the number of changed ranges of two steps")
    call check(all(offsets == [0, 2, 5] * info%page_size), "the changed ranges of two steps")
    call tcasm_changed_ranges(version, "absent", offsets, lengths, status=status)
    call check(status == TCASM_NOT_FOUND .and. size(offsets) == 0, "changes of an absent field")
    call tcasm_changed_ranges(version, "x", offsets, lengths, none, status)
    call check(status == TCASM_INVALID_HANDLE .and. size(offsets) == 0, "ranges since no version")
    pages = tcasm_changed_pages(version, none, status)
    call check(status == TCASM_INVALID_HANDLE .and. pages == 0, "pages since no version")
    call tcasm_release(first)
    call leave()
  end subroutine changes

end program stream
