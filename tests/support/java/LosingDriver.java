package lost;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.DriverPropertyInfo;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.Collections;
import java.util.List;
import java.util.Properties;
import java.util.logging.Logger;

/** SQLite's driver, which fails or ends the process at write N of the catalog. */
public class LosingDriver implements Driver {
  private static final Driver REAL = new org.sqlite.JDBC();
  private static int left = 0;
  private static boolean isBefore = false;
  private static String action = "";

  /**
   * The N-th write from here on (from 1; of 0, none) fails with an SQLSTATE, before it is made or
   * when its answer is lost; of "kill PID" that process and this one end there.
   */
  public static synchronized void arm(int nth, boolean before, String stateOrKill) {
    left = nth;
    isBefore = before;
    action = stateOrKill;
  }

  /** How many writes are left until then. */
  public static synchronized int left() {
    return left;
  }

  static synchronized void at(boolean before, String sql) throws SQLException {
    if (left == 0 || before != isBefore || --left > 0) {
      return;
    }
    if (action.startsWith("kill ")) {
      kill(action.substring(5));
      Runtime.getRuntime().halt(137);
    }
    throw new SQLException((before ? "no connection: " : "the answer is lost: ") + sql, action);
  }

  private static void kill(String pid) {
    try {
      new ProcessBuilder(new String[] {"kill", "-KILL", pid}).start().waitFor();
    } catch (Exception error) {
      throw new IllegalStateException(error);
    }
  }

  /** Take the place of SQLite's driver in this process. */
  public static void install() throws SQLException {
    List found = Collections.list(DriverManager.getDrivers());
    for (int i = 0; i < found.size(); i++) {
      Driver each = (Driver) found.get(i);
      if (each.acceptsURL("jdbc:sqlite:x")) {
        DriverManager.deregisterDriver(each);
      }
    }
    DriverManager.registerDriver(new LosingDriver());
  }

  public Connection connect(String url, Properties info) throws SQLException {
    Connection real = REAL.connect(url, info);
    return real == null ? null : (Connection) Watched.of(Connection.class, real, null);
  }

  public boolean acceptsURL(String url) throws SQLException {
    return REAL.acceptsURL(url);
  }

  public DriverPropertyInfo[] getPropertyInfo(String url, Properties info) throws SQLException {
    return REAL.getPropertyInfo(url, info);
  }

  public int getMajorVersion() {
    return 1;
  }

  public int getMinorVersion() {
    return 0;
  }

  public boolean jdbcCompliant() {
    return false;
  }

  public Logger getParentLogger() {
    return null;
  }
}

/** A connection or a statement of it. */
class Watched implements InvocationHandler {
  private final Object real;
  private final String sql;

  private Watched(Object real, String sql) {
    this.real = real;
    this.sql = sql;
  }

  static Object of(Class type, Object real, String sql) {
    ClassLoader loader = Watched.class.getClassLoader();
    return Proxy.newProxyInstance(loader, new Class[] {type}, new Watched(real, sql));
  }

  public Object invoke(Object proxy, Method method, Object[] args) throws Throwable {
    boolean isWrite = method.getName().equals("executeUpdate");
    if (isWrite) {
      LosingDriver.at(true, sql);
    }
    Object done;
    try {
      done = method.invoke(real, args);
    } catch (InvocationTargetException error) {
      throw error.getCause();
    }
    if (method.getName().equals("prepareStatement")) {
      return of(PreparedStatement.class, done, (String) args[0]);
    }
    if (isWrite) {
      LosingDriver.at(false, sql);
    }
    return done;
  }
}
